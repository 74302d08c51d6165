//! Valid archives with a few bytes changed: thousands of them, the same in every run. None may
//! panic, leave files behind or touch anything outside of its folder.

use super::*;

/// xorshift64*: sufficient to choose bytes.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % sides
    }
}

const ROUNDS: usize = 1000;

fn run(name: &str, good: &[u8], repair: impl Fn(&mut Vec<u8>)) {
    let fixture = Fixture::new();
    let limits = UploadLimits { files: 50, size: hearth_core::ByteSize::mb(1), ..UploadLimits::default() };
    fixture.unpack_within(good, &limits).unwrap();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ good.len() as u64);
    let interesting = [0, 1, 0x7f, 0x80, 0xff, b'.', b'/', b'\\', b'0', b'2', b'5', b'7', b'L', b'x', b'P'];
    let mut taken = 0;
    for round in 0..ROUNDS {
        let mut bytes = good.to_vec();
        for _ in 0..1 + dice.roll(4) {
            let at = dice.roll(bytes.len());
            match dice.roll(5) {
                0 => bytes[at] ^= 1 << dice.roll(8),
                1 => bytes[at] = interesting[dice.roll(interesting.len())],
                2 => bytes.truncate(at.max(1)),
                3 => drop(bytes.splice(at..at, [interesting[dice.roll(interesting.len())]; 3])),
                _ => {
                    let end = (at + 1 + dice.roll(600)).min(bytes.len());
                    let copy = bytes[at..end].to_vec();
                    let to = dice.roll(bytes.len());
                    drop(bytes.splice(to..to, copy));
                }
            }
        }
        repair(&mut bytes);
        match fixture.unpack_within(&bytes, &limits) {
            Ok(unpacked) => {
                taken += 1;
                assert!(unpacked.folder().starts_with(fixture.temp.path().join("uploads")), "{name} {round}");
                assert!(unpacked.size().bytes() <= 1 << 20 && unpacked.files() <= 50, "{name} {round}");
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        fixture.assert_clean();
    }
    assert!(taken < ROUNDS, "{name}: all {taken} were taken");
}

fn files() -> Vec<(String, String)> {
    (0..4).map(|n| (format!("app/dir{}/file{n}.js", n % 2), format!("export default {n};\n").repeat(n * 9))).collect()
}

fn plain() -> Vec<u8> {
    let mut entries: Vec<_> = files().iter().map(|(name, body)| tar_file(name, body)).collect();
    entries.push(tar_entry(b"././@LongLink", b'L', format!("app/{}x\0", "long/".repeat(30)).as_bytes()));
    entries.push(tar_file("cut", "x"));
    entries.push(tar_entry(b"pax", b'x', b"18 path=app/posix\n"));
    entries.push(tar_file("cut", "y"));
    tar(&entries)
}

#[test]
fn plain_tar() {
    run("tar", &plain(), |_| {});
}

/// With corrected checksums, so that the mutation reaches later checks.
#[test]
fn tar_with_right_checksums() {
    run("tar, repaired", &plain(), |bytes| {
        for block in bytes.chunks_exact_mut(512) {
            let block: &mut [u8; 512] = block.try_into().unwrap();
            if &block[257..262] == b"ustar" {
                tar_sum(block);
            }
        }
    });
}

#[test]
fn gzipped_tar() {
    run("tgz", &gzip(&plain()), |_| {});
}

#[test]
fn zipped() {
    let entries: Vec<_> = files()
        .iter()
        .enumerate()
        .map(|(n, (name, body))| match n % 3 {
            0 => Zipped::stored(name, body.as_bytes()),
            1 => Zipped::deflated(name, body.as_bytes()),
            _ => Zipped::streamed(name, body.as_bytes()),
        })
        .collect();
    run("zip", &zip(&entries), |_| {});
}
