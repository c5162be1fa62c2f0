//! The panics of a simulated operator. They belong into the story: printed for each history, with a backtrace each, they would
//! hide it.

use std::{
    cell::RefCell,
    panic::{self, PanicHookInfo},
    sync::Once,
};

thread_local! {
    /// The panics of the history on this thread; `None` on other threads, whose panics are printed as ever.
    static PANICS: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Begins a history on this thread.
pub(super) fn begin() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            // A value of the thread may be gone already.
            let recorded = PANICS.try_with(|panics| {
                let mut panics = panics.borrow_mut();
                panics.as_mut().map(|panics| panics.push(text(panic)))
            });
            if recorded.ok().flatten().is_none() {
                print(panic);
            }
        }));
    });
    PANICS.replace(Some(Vec::new()));
}

/// Where it was, and what it said.
fn text(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().map(|&text| text.to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    let text = text.unwrap_or_else(|| "a value that is not text".to_owned());
    let place = panic.location().map(|place| format!("{place}: "));
    place.unwrap_or_default() + &text
}

/// The first panic since the history began: where, and with what text.
pub(super) fn first() -> Option<String> {
    PANICS.with_borrow(|panics| panics.as_ref()?.first().cloned())
}
