//! The operator that is measured.

use std::{
    fs,
    process::{Child, Command},
    time::Duration,
};

use anyhow::{Context as _, ensure};
use tokio::time::sleep;

use crate::Cli;

/// The operator as a process, which is killed on drop.
pub struct Operator(Child);

impl Operator {
    pub fn start(cli: &Cli) -> anyhow::Result<Self> {
        let log = fs::File::create(&cli.log)?;
        let mut command = Command::new(&cli.command[0]);
        command.args(&cli.command[1..]);
        command.stdout(log.try_clone()?).stderr(log);
        Ok(Self(command.spawn().context(cli.command[0].clone())?))
    }

    /// Waits until it has been idle for two seconds: events are published after the status.
    pub async fn settle(&self) -> anyhow::Result<()> {
        let mut last = f64::NEG_INFINITY;
        while self.cpu()? - last > 0.02 {
            last = self.cpu()?;
            sleep(Duration::from_secs(2)).await;
        }
        Ok(())
    }

    /// CPU seconds so far, user and system.
    pub fn cpu(&self) -> anyhow::Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id()))?;
        let (_, fields) = stat.rsplit_once(')').context("no name in stat")?;
        let fields: Vec<_> = fields.split_whitespace().collect();
        ensure!(fields[0] != "Z", "the operator ended, see its log");
        // The unit is a hundredth of a second on every Linux that Rust supports.
        let ticks = fields[11].parse::<u32>()? + fields[12].parse::<u32>()?;
        Ok(f64::from(ticks) / 100.0)
    }

    pub fn memory(&self, field: &str) -> anyhow::Result<String> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let mut lines = status.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = lines
            .find(|(name, _)| *name == field)
            .context("no such field")?;
        let kib: f64 = value.trim().trim_end_matches(" kB").parse()?;
        Ok(format!("{:.1} MB", kib * 1024.0 / 1e6))
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
