//! `kbr version`.

use serde_json::json;

use super::report::Format;
use kbr_envtest::modules;
use kbr_host::output;
use kbr_scaffold::project::KBR;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Format
    #[arg(long, short, value_enum, default_value_t = Format::Text)]
    output: Format,
}

/// Runs `kbr version`.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let text = match args.output {
        Format::Text => format!("kbr {KBR}\n"),
        Format::Json => {
            let version = json!({
                "version": KBR,
                // The versions that `kbr envtest build` can build, the newest first.
                "kubernetes": modules::versions().collect::<Vec<_>>(),
                "os": std::env::consts::OS,
                "arch": std::env::consts::ARCH,
            });
            format!("{version:#}\n")
        }
    };
    output::data(&text)
}
