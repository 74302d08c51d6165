//! Reproducible random numbers: SplitMix64, with a stream for each client, so that a client's actions follow from the seed
//! alone, whatever the other clients do.

pub struct Random {
    state: u64,
}

impl Random {
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut this = Self { state: seed };
        this.state = this.next() ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        this
    }

    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut n = self.state;
        n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        n ^ (n >> 31)
    }

    /// 0 to `end`, without `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// True with this probability in percent.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// One of `list`, by weights.
    pub fn weighed<'a, T>(&mut self, list: &'a [T], weight: impl Fn(&T) -> usize) -> &'a T {
        let mut at = self.below(list.iter().map(&weight).sum());
        let found = list.iter().find(|item| {
            let here = at < weight(item);
            at = at.saturating_sub(weight(item));
            here
        });
        found.expect("the weights add up to more than was drawn")
    }
}
