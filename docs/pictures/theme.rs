//! The colors of the pictures, and what all of them escape.

pub struct Theme {
    pub background: &'static str,
    pub panel: &'static str,
    pub border: &'static str,
    pub text: &'static str,
    pub dim: &'static str,
    pub red: &'static str,
    pub green: &'static str,
    pub yellow: &'static str,
    pub blue: &'static str,
    /// The colors of the series of a chart, in this order.
    pub series: [&'static str; 8],
}

pub const LIGHT: Theme = Theme {
    background: "#ffffff",
    panel: "#f6f8fa",
    border: "#d0d7de",
    text: "#1f2328",
    dim: "#6e7781",
    red: "#cf222e",
    green: "#116329",
    yellow: "#7d4e00",
    blue: "#0969da",
    series: [
        "#1a7f37", "#bf8700", "#0969da", "#bc4c00", "#8250df", "#cf222e", "#1b7c83", "#6e7781",
    ],
};

pub const DARK: Theme = Theme {
    background: "#0d1117",
    panel: "#161b22",
    border: "#30363d",
    text: "#e6edf3",
    dim: "#8b949e",
    red: "#ff7b72",
    green: "#56d364",
    yellow: "#e3b341",
    blue: "#79c0ff",
    series: [
        "#56d364", "#e3b341", "#79c0ff", "#ffa657", "#d2a8ff", "#ff7b72", "#76e3ea", "#8b949e",
    ],
};

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
