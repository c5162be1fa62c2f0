//! `kbr bundle`: arguments.

use super::dist;
use kbr_dist::bundle::{self, Inputs};
use kbr_host::output;

/// Generate a bundle for the Operator Lifecycle Manager (OLM) from `config`
///
/// The format is registry+v1, which OLM v0 and v1 install. What a catalogue shows is in the table `[bundle]` of PROJECT. The same project
/// makes the same bytes, whenever it is run.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// The version of the bundle; that of the package in `Cargo.toml` if it is not given
    #[arg(long, short, value_name = "SEMVER")]
    pub version: Option<String>,
    /// The channels of the bundle, separated by commas
    #[arg(
        long,
        value_name = "CHANNELS",
        default_value = "alpha",
        value_delimiter = ','
    )]
    pub channels: Vec<String>,
    /// The channel that users get if they choose none
    #[arg(long, value_name = "CHANNEL")]
    pub default_channel: Option<String>,
    /// The name of the package; that of the project if it is not given
    #[arg(long, value_name = "NAME")]
    pub package: Option<String>,
    /// The image of the operator; that of `config` if it is not given
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// Fail if an image has no digest
    #[arg(long)]
    pub use_image_digests: bool,
    /// When the release was made, such as `2026-01-31T12:00:00Z`; without it, the bundle does not say
    #[arg(long, value_name = "TIME")]
    pub created_at: Option<String>,
    /// The folder to write to, in the project
    #[arg(long, value_name = "FOLDER", default_value = "bundle")]
    pub output_dir: String,
    /// Print the manifests instead of writing them
    #[arg(long, conflicts_with = "check")]
    pub stdout: bool,
    /// Write nothing; print what is stale as a diff, and fail if anything is
    #[arg(long)]
    pub check: bool,
}

/// Generates the bundle of the project that the current folder belongs to.
///
/// # Errors
/// `config` cannot be rendered, or has what OLM does not install. With `--check`, also if anything is stale.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let root = dist::root()?;
    let inputs = Inputs {
        version: args.version.clone(),
        package: args.package.clone(),
        channels: args.channels.clone(),
        default_channel: args.default_channel.clone(),
        image: args.image.clone(),
        created_at: args.created_at.clone(),
        digests: args.use_image_digests,
        folder: args.output_dir.trim_end_matches('/').to_owned(),
    };
    let made = bundle::generate(&root, &inputs, &dist::kubectl()?)?;
    if let Some(note) = &made.note {
        output::message(note);
    }
    if args.stdout {
        // The Dockerfile is not YAML.
        let manifests = made
            .files
            .iter()
            .filter(|file| file.path != bundle::DOCKERFILE);
        let mut manifests = manifests.map(|file| format!("---\n{}", file.text));
        return manifests.try_for_each(|text| output::data(&text));
    }
    dist::write(&root, &made, args.check)
}
