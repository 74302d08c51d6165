use proptest::prelude::*;

use super::*;

/// What compresses, what decompresses, and the number that ends the input.
type Format = (fn() -> Config, fn() -> Config, u32);

const FORMATS: [Format; 5] = [
    (|| zlib(ZlibMode::Deflate), || zlib(ZlibMode::Inflate), 4),
    (|| zlib(ZlibMode::Gzip), || zlib(ZlibMode::Unzip), 4),
    (|| zlib(ZlibMode::DeflateRaw), || zlib(ZlibMode::InflateRaw), 4),
    (|| Config::BrotliEncoder { params: vec![(1, 4)] }, || Config::BrotliDecoder { params: vec![] }, 2),
    (
        || Config::ZstdEncoder { params: vec![], source_size: None, dictionary: vec![] },
        || Config::ZstdDecoder { params: vec![], dictionary: vec![] },
        2,
    ),
];

fn zlib(mode: ZlibMode) -> Config {
    Config::Zlib(ZlibConfig::new(mode))
}

/// All output for an input that comes in pieces, with room for so many bytes at a time.
fn run(config: Config, input: &[u8], finish: u32, piece: usize, room: usize) -> Result<Vec<u8>, CodecError> {
    let mut codec = Codec::new(config)?;
    let mut all = Vec::new();
    let mut output = vec![0; room];
    let mut rest = input;
    loop {
        let part = &rest[..rest.len().min(piece)];
        let flush = if part.len() == rest.len() { finish } else { 0 };
        let step = codec.step(part, &mut output, flush)?;
        all.extend_from_slice(&output[..step.written]);
        rest = &rest[step.read..];
        if step.ended || (rest.is_empty() && step.written < room.min(MAX_STEP) && !step.more) {
            return Ok(all);
        }
    }
}

#[test]
fn what_was_compressed_comes_back() {
    let text: Vec<u8> = (0..300_000u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
    for (compress, decompress, finish) in FORMATS {
        for (piece, room) in [(usize::MAX, 1 << 20), (1000, 64), (200_000, 10_000)] {
            let packed = run(compress(), &text, finish, piece, room).expect("it is compressed");
            assert!(packed.len() < text.len() / 2, "{} bytes", packed.len());
            let back = run(decompress(), &packed, finish, piece, room).expect("it is decompressed");
            assert!(back == text, "{:?}", compress());
        }
    }
}

#[test]
fn a_step_is_bounded() {
    let zeros = vec![0; 10 << 20];
    let packed = run(zlib(ZlibMode::Gzip), &zeros, 4, usize::MAX, 1 << 16).expect("it is compressed");
    let mut codec = Codec::new(zlib(ZlibMode::Gunzip)).expect("it is made");
    let step = codec.step(&packed, &mut vec![0; 1 << 20], 4).expect("it is a stream");
    assert_eq!((step.written, step.more), (MAX_STEP, true));
}

/// What a codec holds after a step is what it said that it would, or less.
fn held_and_expected(config: Config, input: &[u8], finish: u32) -> (u64, u64) {
    let mut codec = Codec::new(config).expect("it is made");
    codec.expect_input(input.len() as u64, finish).expect("it has not begun");
    let expected = codec.expected_memory(input);
    // Whether it works or fails.
    let _ = codec.step(input, &mut [0; 1000], finish);
    (codec.memory(), expected)
}

#[test]
fn no_parameter_of_zstd_makes_it_allocate_more_than_it_says() {
    let zstd =
        |params: &[(u32, u32)]| Config::ZstdEncoder { params: params.to_vec(), source_size: None, dictionary: vec![] };
    let hostile: &[&[(u32, u32)]] = &[
        &[(160, 1), (161, 28)],
        &[(160, 1), (161, 27), (163, 8)],
        &[(160, 1), (101, 10), (164, 25)],
        &[(101, 31), (102, 30), (103, 30), (107, 9)],
        &[(100, 22), (101, 27), (164, 20)],
    ];
    for params in hostile {
        let (held, expected) = held_and_expected(zstd(params), b"hi", 2);
        assert!(held < 8 << 20 && expected < 8 << 20 || params[0].0 == 160, "{params:?}: {held}, {expected}");
        let (held, expected) = held_and_expected(zstd(params), b"hi", 0);
        assert!(held < expected + (2 << 20) && expected < 900 << 20, "{params:?}: {held} of {expected}");
    }
    let (_, expected) = held_and_expected(zstd(&[(100, 22)]), &[1; 1000], 2);
    assert!(expected < 1 << 20, "{expected} for a small input at the highest level");
}

#[test]
fn a_zstd_decoder_says_how_large_its_window_is_and_refuses_the_largest() {
    let unzstd = |params: &[(u32, u32)]| Config::ZstdDecoder { params: params.to_vec(), dictionary: vec![] };
    let frame = |window: u8| [0x28, 0xb5, 0x2f, 0xfd, 0, window << 3, 1, 0, 0];
    let (held, expected) = held_and_expected(unzstd(&[(100, 31)]), &frame(21), 0);
    assert!(held < 8 << 20 && expected <= 129 << 20, "{held}, {expected}");
    let (held, expected) = held_and_expected(unzstd(&[]), &frame(17), 0);
    assert!(held <= expected && held > 100 << 20, "{held}, {expected}");
    // However its header comes.
    let mut codec = Codec::new(unzstd(&[])).expect("it is made");
    for byte in frame(15) {
        let expected = codec.expected_memory(&[byte]);
        codec.step(&[byte], &mut [0; 10], 0).expect("it is a frame");
        assert!(codec.memory() <= expected, "{} of {expected}", codec.memory());
    }
}

#[test]
fn dictionaries_are_counted() {
    for mode in [ZlibMode::Deflate, ZlibMode::Inflate, ZlibMode::InflateRaw, ZlibMode::Gzip] {
        let config = ZlibConfig { dictionary: vec![7; 8 << 20], ..ZlibConfig::new(mode) };
        let codec = Codec::new(Config::Zlib(config)).expect("it is made");
        assert!(codec.memory() > 8 << 20, "{mode:?}");
    }
    let config = Config::ZstdEncoder { params: vec![(100, 22)], source_size: None, dictionary: vec![7; 1 << 20] };
    let (held, expected) = held_and_expected(config, b"hi", 2);
    assert!(held <= expected, "{held} of {expected}");
}

#[test]
fn brotli_takes_small_steps_at_its_best_quality() {
    let input: Vec<u8> = (0..MAX_STEP as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let (held, expected) = held_and_expected(Config::BrotliEncoder { params: vec![] }, &input, 0);
    assert!(held < expected + (8 << 20) && held > 8 << 20, "one step fills a block: {held} of {expected}");
}

#[test]
fn truncated_input_ends_unexpectedly() {
    for (compress, decompress, finish) in FORMATS {
        let packed = run(compress(), b"hello, hello, hello", finish, usize::MAX, 1000).expect("it is compressed");
        let error = run(decompress(), &packed[..packed.len() - 1], finish, usize::MAX, 1000).expect_err("it is cut");
        assert_eq!((error.code.as_str(), error.message.as_str()), ("Z_BUF_ERROR", "unexpected end of file"));
    }
}

#[test]
fn dictionaries() {
    let with =
        |mode, dictionary: &[u8]| Config::Zlib(ZlibConfig { dictionary: dictionary.to_vec(), ..ZlibConfig::new(mode) });
    let packed = run(with(ZlibMode::Deflate, b"hello world"), b"hello world", 4, 100, 100).expect("it is compressed");
    let back = |config| run(config, &packed, 4, 100, 100).map_err(|error| (error.code, error.message));
    let need = |message: &str| Err(("Z_NEED_DICT".to_owned(), message.to_owned()));
    assert_eq!(back(with(ZlibMode::Inflate, b"hello world")), Ok(b"hello world".to_vec()));
    assert_eq!(back(with(ZlibMode::Inflate, b"other")), need("Bad dictionary"));
    assert_eq!(back(zlib(ZlibMode::Inflate)), need("Missing dictionary"));
}

#[test]
fn members_and_padding_of_gzip() {
    let one = run(zlib(ZlibMode::Gzip), b"one", 4, 100, 100).expect("it is compressed");
    let two = run(zlib(ZlibMode::Gzip), b"two", 4, 100, 100).expect("it is compressed");
    let unzip = |parts: &[&[u8]]| {
        let mut codec = Codec::new(zlib(ZlibMode::Gunzip))?;
        let mut output = [0; 100];
        let step = codec.step(&parts.concat(), &mut output, 4)?;
        Ok::<_, CodecError>((step.read, output[..step.written].to_vec()))
    };
    let both = one.len() + two.len();
    assert_eq!(unzip(&[&one, &two]), Ok((both, b"onetwo".to_vec())));
    assert_eq!(unzip(&[&one, &two, &[0; 10]]), Ok((both, b"onetwo".to_vec())));
    let error = unzip(&[&one, &[7; 10]]).expect_err("it is no member");
    assert_eq!((error.code.as_str(), error.message.as_str()), ("Z_DATA_ERROR", "incorrect header check"));
}

proptest! {
    #[test]
    fn anything_can_be_fed_to_a_decoder(bytes in proptest::collection::vec(any::<u8>(), 0..300), piece in 1usize..50) {
        for (_, decompress, finish) in FORMATS {
            drop(run(decompress(), &bytes, finish, piece, 100));
        }
    }

    #[test]
    fn a_damaged_stream_is_an_error_or_ends(text in proptest::collection::vec(0u8..4, 0..2000), at in any::<usize>(), bit in 0u8..8) {
        for (compress, decompress, finish) in FORMATS {
            let mut packed = run(compress(), &text, finish, 100, 100).expect("it is compressed");
            let at = at % packed.len();
            packed[at] ^= 1 << bit;
            drop(run(decompress(), &packed, finish, 77, 100));
        }
    }
}
