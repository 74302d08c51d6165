//! Masking (RFC 6455, 5.3): each byte of a client's payload is combined with a byte of the frame's key. Done eight bytes at
//! a time, which the compiler turns into vectors.

/// Masks or unmasks `bytes`, the first of which lies `offset` bytes into its frame's payload.
pub fn mask(bytes: &mut [u8], key: [u8; 4], offset: usize) {
    let turn = offset % 4;
    let key = [key[turn], key[(turn + 1) % 4], key[(turn + 2) % 4], key[(turn + 3) % 4]];
    let wide = u64::from_ne_bytes([key[0], key[1], key[2], key[3], key[0], key[1], key[2], key[3]]);
    let mut words = bytes.chunks_exact_mut(8);
    for word in &mut words {
        let mut value = [0; 8];
        value.copy_from_slice(word);
        word.copy_from_slice(&(u64::from_ne_bytes(value) ^ wide).to_ne_bytes());
    }
    for (byte, key) in words.into_remainder().iter_mut().zip(key.iter().cycle()) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masking_in_pieces_equals_masking_byte_by_byte() {
        let key = [0x37, 0xfa, 0x21, 0x3d];
        for length in 0..40 {
            let plain: Vec<u8> = (0..length).map(|i| (i * 7) as u8).collect();
            let expected: Vec<u8> = plain.iter().enumerate().map(|(i, b)| b ^ key[i % 4]).collect();
            for cut in 0..=length {
                let mut masked = plain.clone();
                let (first, second) = masked.split_at_mut(cut);
                mask(first, key, 0);
                mask(second, key, cut);
                assert_eq!(masked, expected, "length {length}, cut at {cut}");
            }
        }
    }
}
