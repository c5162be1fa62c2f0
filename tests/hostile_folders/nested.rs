//! Rust that a parser nests once for each repetition.

/// The beginning, what is repeated, the middle, what is repeated behind it, and the end.
pub type Form = [&'static str; 5];

/// One for each way in which syn calls itself, to parse or to drop.
pub const FORMS: [Form; 64] = [
    // Expressions.
    ["fn a() { let a = ", "(", "a", ")", "; }"],
    ["fn a() { let a = ", "[", "a", "]", "; }"],
    ["fn a() ", "{", "", "}", ""],
    ["fn a() { ", "!", "a", "", "; }"],
    ["const A: i32 = ", "-", "1", "", ";"],
    ["const A: i32 = ", "&", "1", "", ";"],
    ["const A: i32 = ", "&mut ", "1", "", ";"],
    ["const A: i32 = ", "&raw const ", "1", "", ";"],
    ["fn a() { let a = ", "|a| ", "a", "", "; }"],
    ["fn a() { let a = ", "|| ", "a", "", "; }"],
    ["fn a() { let a = ", "move || ", "a", "", "; }"],
    ["fn a() { let a = ", "for<'a> || ", "a", "", "; }"],
    ["fn a() { let a = ", "|| -> A { ", "a", "}", "; }"],
    ["fn a() { let a = ", "a + |a| ", "a", "", "; }"],
    ["fn a() { ", "return ", "a", "", "; }"],
    ["fn a() { ", "break ", "a", "", "; }"],
    ["fn a() { ", "yield ", "a", "", "; }"],
    ["fn a() { ", "become ", "a", "", "; }"],
    ["fn a() { ", "a = ", "a", "", "; }"],
    ["fn a() { ", "a += ", "a", "", "; }"],
    ["fn a() { ", "if ", "a", "{}", " }"],
    ["fn a() { ", "if let a = ", "a", "{}", " }"],
    ["fn a() { ", "if a {} else ", "{}", "", " }"],
    ["fn a() { ", "match ", "a", "{}", " }"],
    ["fn a() { ", "match a { _ => ", "a", "}", " }"],
    ["fn a() { ", "while ", "a", "{}", " }"],
    ["fn a() { ", "for a in ", "a", "{}", " }"],
    ["fn a() { ", "loop {", "", "}", " }"],
    ["fn a() { ", "unsafe {", "", "}", " }"],
    ["fn a() { ", "async {", "", "}", " }"],
    ["fn a() { ", "const {", "", "}", " }"],
    ["fn a() { ", "if a { 1 } else { ", "", "}", " }"],
    ["fn a() { let a = ", "A { a: ", "a", "}", "; }"],
    ["fn a() { let a = ", "A { ..", "a", "}", "; }"],
    ["fn a() { let a = ", "a(a, ", "a", ")", "; }"],
    ["fn a() { let a = ", "a::<", "a", ">", "; }"],
    ["fn a() { let a = ", "<", "A", " as A>::A", "; }"],
    ["fn a() { let a = a", " + a", "", "", "; }"],
    ["fn a() { let a = a", ".a()", "", "", "; }"],
    ["fn a() { let a = a", ".0.0", "", "", "; }"],
    ["fn a() { let a = a", "[a]", "", "", "; }"],
    ["fn a() { let a = a", " as a", "", "", "; }"],
    ["fn a() { let a = a", "?", "", "", "; }"],
    // Patterns.
    ["fn a() { let ", "&", "a", "", " = a; }"],
    ["fn a() { let ", "(a, ", "a", ")", " = a; }"],
    ["fn a() { let ", "[", "a", "]", " = a; }"],
    ["fn a() { let ", "a @ ", "a", "", " = a; }"],
    ["fn a() { let ", "A { a: ", "a", "}", " = a; }"],
    // Types.
    ["struct A { a: ", "&", "a", "", " }"],
    ["struct A { a: ", "*const ", "a", "", " }"],
    ["struct A { a: ", "(", "a", ",)", " }"],
    ["struct A { a: ", "[a; {[a; ", "a", "]}]", " }"],
    ["struct A { a: ", "Vec<", "a", ">", " }"],
    ["struct A { a: ", "A<a, ", "a", ">", " }"],
    ["struct A { a: ", "A<a: a<", "a", ">>", " }"],
    ["struct A { a: ", "fn() -> ", "a", "", " }"],
    ["struct A { a: ", "fn(", "a", ")", " }"],
    ["struct A { a: ", "dyn Fn() -> ", "a", "", " }"],
    // Items, attributes and macros.
    ["", "mod a {", "", "}", ""],
    ["", "impl A { fn a() {", "", "}}", ""],
    ["use ", "a::", "a", "", ";"],
    ["use ", "{", "a", "}", ";"],
    ["#[a = ", "!", "a", "", "] struct A;"],
    ["a! ", "(", "", ")", ";"],
];

/// The form with this many repetitions.
pub fn nested([start, open, middle, close, end]: Form, count: usize) -> String {
    [
        start,
        &open.repeat(count),
        middle,
        &close.repeat(count),
        end,
    ]
    .concat()
}
