//! Archives as clients send them, good and bad: made here by hand, since no tool makes the bad ones.

use std::io::Write as _;

use flate2::{Compression, Crc, write::GzEncoder};

const BLOCK: usize = 512;

/// A tar archive that is not finished yet.
#[derive(Default)]
pub struct Tar(Vec<u8>);

impl Tar {
    pub fn file(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        self.entry(name, b'0', "", text.as_ref())
    }

    pub fn symlink(self, name: &str, to: &str) -> Self {
        self.entry(name, b'2', to, b"")
    }

    fn entry(mut self, name: &str, kind: u8, link: &str, data: &[u8]) -> Self {
        let mut head = [0u8; BLOCK];
        let mut put = |at: usize, bytes: &[u8]| head[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, name.as_bytes());
        put(100, b"0000644\0");
        put(108, b"0000000\0");
        put(116, b"0000000\0");
        put(124, format!("{:011o}\0", data.len()).as_bytes());
        put(136, b"00000000000\0");
        put(148, b"        ");
        put(156, &[kind]);
        put(157, link.as_bytes());
        put(257, b"ustar\x0000");
        let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
        head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.0.extend_from_slice(&head);
        self.0.extend_from_slice(data);
        self.0.resize(self.0.len().next_multiple_of(BLOCK), 0);
        self
    }

    pub fn tar(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 2 * BLOCK, 0);
        self.0
    }

    pub fn tgz(self) -> Vec<u8> {
        gzip(&self.tar())
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A .tgz of these files.
pub fn tgz(files: &[(&str, &str)]) -> Vec<u8> {
    files.iter().fold(Tar::default(), |tar, (name, text)| tar.file(name, text)).tgz()
}

/// A .zip of these files, uncompressed.
pub fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, text) in files {
        let mut crc = Crc::new();
        crc.update(text.as_bytes());
        let at = u32::try_from(out.len()).unwrap();
        let (size, length) = (u32::try_from(text.len()).unwrap(), u16::try_from(name.len()).unwrap());
        // Version, flags, method, time, date, checksum, sizes, lengths of name and extra field.
        let mut common = Vec::new();
        for number in [20u16, 0, 0, 0, 0x21] {
            common.extend(number.to_le_bytes());
        }
        for number in [crc.sum(), size, size] {
            common.extend(number.to_le_bytes());
        }
        common.extend(length.to_le_bytes());
        common.extend([0, 0]);
        out.extend(b"PK\x03\x04");
        out.extend(&common);
        out.extend(name.as_bytes());
        out.extend(text.as_bytes());
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(&common);
        // Comment, disk, attributes inside.
        directory.extend([0; 6]);
        directory.extend((0o100_644u32 << 16).to_le_bytes());
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, size) = (u32::try_from(out.len()).unwrap(), u32::try_from(directory.len()).unwrap());
    let count = u16::try_from(files.len()).unwrap();
    out.extend(directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend(size.to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0, 0]);
    out
}
