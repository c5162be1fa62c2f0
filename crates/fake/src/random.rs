//! Pseudo-random numbers, the same in every run.

/// Splitmix64 (Steele, Lea, Flood 2014).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// At least 0 and less than `most`; 0 if `most` is 0.
    pub fn below(&mut self, most: usize) -> usize {
        let most = most.max(1) as u64;
        usize::try_from(self.next() % most).unwrap_or_default()
    }

    pub fn chance(&mut self) -> bool {
        self.next().is_multiple_of(2)
    }
}
