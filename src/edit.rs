//! Inserts text at a marker: text in, text out.
