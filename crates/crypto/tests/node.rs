//! What Node's `crypto` needs, through the public API: hashes and ciphers piece by piece, keys in all forms, bombs.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use hearth_crypto::node::{
    CipherDirection, CipherState, Computation, DIGEST_NAMES, DhGroup, Digest, Encryption, HashState, HmacState,
    KdfInput, KeyText, PairSpec, SignatureOptions, cipher_info, cipher_names, curve_names, details, equals, key_type,
    modp_group, read_private, read_public, write_private, write_public,
};
use hearth_crypto::{CryptoKey, KeyFormat, KeyKind, KeyPair, OkpCurve, Operation, Output, RsaParameters};
use proptest::prelude::*;

fn run(computation: Computation) -> Output {
    Operation::Node(Box::new(computation)).run().unwrap()
}

fn pair(spec: PairSpec) -> KeyPair {
    match run(Computation::Pair(spec)) {
        Output::Pair(pair) => pair,
        other => panic!("{other:?}"),
    }
}

fn rsa() -> RsaParameters {
    RsaParameters { modulus_bits: 1024, public_exponent: vec![1, 0, 1] }
}

fn text(data: &[u8], pem: bool, form: &str, passphrase: Option<&[u8]>) -> KeyText {
    KeyText { data: data.to_vec(), pem, form: form.to_owned(), passphrase: passphrase.map(<[u8]>::to_vec) }
}

#[test]
fn all_names_are_known() {
    for name in DIGEST_NAMES {
        let Some(digest) = Digest::from_name(name) else { continue };
        let state = HashState::new(digest, Some(digest.bytes())).unwrap();
        assert_eq!(state.finish().unwrap().len(), digest.bytes(), "{name}");
    }
    assert!(cipher_names().count() > 50);
    assert!(cipher_names().all(|name| cipher_info(name).is_some()));
    assert!(curve_names().any(|name| name == "secp256k1"));
    assert_eq!(cipher_info("sha256"), None);
    assert_eq!(cipher_info("aes-128-cbc,x=y"), None);
    assert!(Digest::from_name("nothing\0").is_none());
}

#[test]
fn every_kind_of_pair_goes_through_its_forms_and_signs() {
    let specs = [
        PairSpec::Rsa(rsa()),
        PairSpec::RsaPss { rsa: rsa(), hash: Some("sha256".into()), mgf1_hash: None, salt_bytes: Some(200) },
        PairSpec::Dsa { modulus_bits: 1024 },
        PairSpec::Ec { curve: "secp256k1".into(), explicit: false },
        PairSpec::Ec { curve: "prime256v1".into(), explicit: true },
        PairSpec::Okp(OkpCurve::Ed25519),
        PairSpec::Okp(OkpCurve::X448),
        PairSpec::Dh(modp_group("modp14").unwrap()),
        PairSpec::MlDsa(44),
        PairSpec::MlKem(768),
    ];
    for spec in specs {
        let made = pair(spec.clone());
        for pem in [true, false] {
            let spki = write_public(&made.public, pem, "spki").unwrap();
            assert!(equals(&read_public(&text(&spki, pem, "spki", None)).unwrap(), &made.public), "{spec:?}");
            let plain = write_private(&made.private, pem, "pkcs8", None).unwrap();
            assert!(equals(&read_private(&text(&plain, pem, "pkcs8", None)).unwrap(), &made.private), "{spec:?}");
            assert!(equals(&read_public(&text(&plain, pem, "pkcs8", None)).unwrap(), &made.public), "{spec:?}");
            let sealed = Encryption { cipher: "aes-256-cbc".into(), passphrase: b"secret".to_vec() };
            let sealed = write_private(&made.private, pem, "pkcs8", Some(&sealed)).unwrap();
            let opened = read_private(&text(&sealed, pem, "pkcs8", Some(b"secret"))).unwrap();
            assert!(equals(&opened, &made.private), "{spec:?}");
            assert!(read_private(&text(&sealed, pem, "pkcs8", Some(b"other"))).is_err());
            let missing = read_private(&text(&sealed, pem, "pkcs8", None)).unwrap_err().to_string();
            assert!(missing.starts_with("ERR_MISSING_PASSPHRASE"), "{missing}");
        }
        assert!(!key_type(&made.public).unwrap().is_empty());
        signs_where_it_can(&spec, made);
    }
}

fn signs_where_it_can(spec: &PairSpec, made: KeyPair) {
    if matches!(spec, PairSpec::Okp(OkpCurve::X448) | PairSpec::Dh(_) | PairSpec::MlKem(_)) {
        return;
    }
    let options = SignatureOptions { p1363: true, ..SignatureOptions::default() };
    let (public, private) = (Arc::new(made.public), Arc::new(made.private));
    // A salt of 200 bytes does not fit.
    if matches!(spec, PairSpec::RsaPss { .. }) {
        assert_eq!(details(&public).unwrap().salt_bytes, Some(200));
        return;
    }
    let data = b"text".to_vec();
    let sign = Computation::Sign { key: private, options: options.clone(), data: data.clone(), is_digest: false };
    let Output::Bytes(signature) = run(sign) else { panic!("{spec:?}") };
    for (signature, wanted) in [(signature.clone(), true), (vec![7; signature.len()], false), (vec![], false)] {
        let (key, options, data) = (public.clone(), options.clone(), data.clone());
        let verify = Computation::Verify { key, options, data, is_digest: false, signature };
        assert!(matches!(run(verify), Output::Verdict(verdict) if verdict == wanted), "{spec:?}");
    }
}

#[test]
fn restrictions_of_rsa_pss_are_read() {
    let spec = PairSpec::RsaPss {
        rsa: rsa(),
        hash: Some("sha512".into()),
        mgf1_hash: Some("sha256".into()),
        salt_bytes: None,
    };
    let found = details(&pair(spec).public).unwrap();
    assert_eq!(
        (found.hash.as_deref(), found.mgf1_hash.as_deref(), found.salt_bytes),
        (Some("sha512"), Some("sha256"), Some(20))
    );
    let free = pair(PairSpec::RsaPss { rsa: rsa(), hash: None, mgf1_hash: None, salt_bytes: None });
    assert_eq!(details(&free.public).unwrap().hash, None);
}

#[test]
fn an_encrypted_key_cannot_demand_any_number_of_rounds() {
    let made = pair(PairSpec::Okp(OkpCurve::Ed25519));
    let sealed = Encryption { cipher: "aes-128-cbc".into(), passphrase: b"x".to_vec() };
    let mut sealed = write_private(&made.private, false, "pkcs8", Some(&sealed)).unwrap();
    let at = sealed.windows(4).position(|part| part == [2, 2, 8, 0]).unwrap();
    assert!(read_private(&text(&sealed, false, "pkcs8", Some(b"x"))).is_ok());
    // Two bytes are too few for a bomb: the salt before them becomes a number that is.
    let salt = sealed[..at].windows(2).rposition(|part| part == [4, 16]).unwrap();
    sealed[salt] = 2;
    let error = read_private(&text(&sealed, false, "pkcs8", Some(b"x"))).unwrap_err().to_string();
    assert!(error.contains("rounds"), "{error}");
}

#[test]
fn bombs_say_what_they_cost() {
    let input = |bytes| KdfInput { password: vec![], salt: vec![], bytes };
    let digest = Digest::from_name("sha512").unwrap();
    let long = [
        Computation::Scrypt { input: input(64), n: 1 << 40, r: 8, p: 1, max_memory: u64::MAX },
        Computation::Pbkdf2 { input: input(64), digest, iterations: i32::MAX as u32 },
        Computation::Pbkdf2 { input: input(1 << 30), digest, iterations: 1000 },
        Computation::Prime { bits: 20_000, safe: true, add: None, rem: None },
        Computation::CheckPrime { candidate: vec![0xff; 1 << 20], checks: 64 },
        Computation::DhParameters { bits: 8192, generator: 2 },
        Computation::Pair(PairSpec::Rsa(RsaParameters { modulus_bits: u32::MAX, public_exponent: vec![3] })),
        Computation::Pair(PairSpec::Dsa { modulus_bits: 1 << 20 }),
        Computation::Pair(PairSpec::DhPrime { bits: u32::MAX, generator: 2 }),
        Computation::DhKeys { group: DhGroup { prime: vec![0xff; 1 << 16], generator: vec![2] }, private: None },
    ];
    for computation in long {
        let operation = Operation::Node(Box::new(computation.clone()));
        assert!(operation.estimated_cost().as_secs() > 20, "{computation:?}");
    }
    let wide = Computation::Scrypt { input: input(64), n: 1 << 20, r: 8, p: 1, max_memory: u64::MAX };
    assert!(Operation::Node(Box::new(wide)).memory() >= 1 << 30);
}

#[test]
fn numbers_that_make_no_group_are_errors() {
    for (prime, generator) in [(vec![], vec![]), (vec![0], vec![0]), (vec![4], vec![2]), (vec![0xff; 3], vec![1])] {
        let group = DhGroup { prime, generator };
        for computation in [
            Computation::DhKeys { group: group.clone(), private: Some(vec![5]) },
            Computation::DhSecret { group: group.clone(), private: vec![1], public: vec![2] },
            Computation::DhSecret { group: group.clone(), private: vec![], public: vec![] },
        ] {
            drop(Operation::Node(Box::new(computation)).run());
        }
    }
}

fn attempt(computation: Computation) -> Result<Output, String> {
    Operation::Node(Box::new(computation)).run().map_err(|error| error.to_string())
}

#[test]
fn a_prime_that_cannot_be_is_not_looked_for() {
    let prime = |bits, safe, add: &[u8], rem: &[u8]| {
        attempt(Computation::Prime { bits, safe, add: Some(add.to_vec()), rem: Some(rem.to_vec()) })
    };
    for (safe, add, rem) in [(false, 4, 2), (false, 9, 3), (true, 6, 1), (true, 4, 1)] {
        let error = prime(64, safe, &[add], &[rem]).unwrap_err();
        assert!(error.contains("no prime fits"), "{error}");
    }
    // The one candidate is 2^63 + 1, which 3 divides.
    assert!(prime(64, false, &[0x80, 0, 0, 0, 0, 0, 0, 0], &[1]).is_err());
    for (bits, safe, add, rem) in [(64, false, 4, 3), (128, true, 12, 11), (10, false, 30, 7), (8, true, 4, 3)] {
        let Output::Bytes(found) = prime(bits, safe, &[add], &[rem]).unwrap() else { panic!("it is a number") };
        let number = found.iter().fold(0u128, |number, byte| number << 8 | u128::from(*byte));
        assert_eq!((number % u128::from(add), number.ilog2() + 1), (rem.into(), bits));
    }
}

#[test]
fn numbers_longer_than_the_prime_of_a_group_are_refused() {
    let group = modp_group("modp14").unwrap();
    let long = vec![0xff; 1 << 20];
    let wide = DhGroup { prime: group.prime.clone(), generator: long.clone() };
    for computation in [
        Computation::DhKeys { group: group.clone(), private: Some(long.clone()) },
        Computation::DhSecret { group, private: long, public: vec![9] },
        Computation::DhKeys { group: wide.clone(), private: Some(vec![5]) },
        Computation::Pair(PairSpec::Dh(wide)),
    ] {
        assert!(attempt(computation).is_err());
    }
}

fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    [&[tag, 0x83][..], &(content.len() as u32).to_be_bytes()[1..], &content].concat()
}

/// A private key without its public half: OpenSSL computes that while it reads.
fn discrete_logarithm(oid: &[u8], prime: usize, private: usize) -> Vec<u8> {
    let number = |bytes: usize| der(2, &[&[0x7f], &vec![0xff; bytes - 1]]);
    let parameters = der(0x30, &[&number(prime), &number(20), &number(prime)]);
    let algorithm = der(0x30, &[&der(6, &[oid]), &parameters]);
    der(0x30, &[&[2, 1, 0], &algorithm, &der(4, &[&number(private)])])
}

fn armor(label: &str, der: &[u8]) -> String {
    use base64::Engine as _;
    let body = base64::engine::general_purpose::STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
}

#[test]
fn a_key_is_not_computed_with_while_it_is_read() {
    let dsa = [0x2a, 0x86, 0x48, 0xce, 0x38, 0x04, 0x01];
    let dh = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x03, 0x01];
    for key in [
        discrete_logarithm(&dsa, 20_000, 20_000),
        discrete_logarithm(&dsa, 5_000, 5_000),
        discrete_logarithm(&dsa, 1_024, 9_000),
        discrete_logarithm(&dh, 1_024, 900_000),
    ] {
        let pem = armor("PRIVATE KEY", &key);
        for text in [text(&key, false, "pkcs8", None), text(pem.as_bytes(), true, "", None)] {
            let error = read_private(&text).unwrap_err().to_string();
            assert!(error.contains("too large") || error.contains("longer than"), "{error}");
            assert!(read_public(&text).is_err());
        }
        assert!(CryptoKey::import(KeyKind::Rsa, KeyFormat::Pkcs8, &key).is_err());
    }
}

/// PKCS #8 whose password goes through this function.
fn sealed(function: &[u8]) -> Vec<u8> {
    let pbes2 = der(6, &[&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d]]);
    let aes = der(0x30, &[&der(6, &[&[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 1, 2]]), &der(4, &[&[7; 16]])]);
    let algorithm = der(0x30, &[&pbes2, &der(0x30, &[function, &aes])]);
    der(0x30, &[&algorithm, &der(4, &[&[9; 64]])])
}

#[test]
fn no_writing_of_a_key_hides_its_rounds() {
    let pbkdf2 = der(6, &[&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0c]]);
    let salt = der(4, &[&[1; 8]]);
    let rounds = [2, 4, 0x77, 0x35, 0x94, 0];
    let bomb = sealed(&der(0x30, &[&pbkdf2, &der(0x30, &[&salt, &rounds])]));
    // The length of the parameters is indefinite, or has too many digits.
    let parts = [&salt[..], &rounds, &[0, 0]].concat();
    let indefinite = sealed(&der(0x30, &[&pbkdf2, &[0x30, 0x80], &parts]));
    let digits = [&[0x30, 0x86, 0, 0, 0, 0, 0, (parts.len() - 2) as u8][..], &parts[..parts.len() - 2]].concat();
    let long_length = sealed(&der(0x30, &[&pbkdf2, &digits]));
    let name = der(6, &[&[0x2b, 6, 1, 4, 1, 0xda, 0x47, 4, 0x0b]]);
    let numbers = [&[2, 3, 0, 0x80, 0][..], &[2, 1, 1], &[2, 3, 2, 0xbf, 0x20]].concat();
    let scrypt = sealed(&der(0x30, &[&name, &der(0x30, &[&salt, &numbers])]));
    for key in [&bomb, &indefinite, &long_length, &scrypt] {
        let pem = armor("ENCRYPTED PRIVATE KEY", key);
        let decoy = format!("x-----BEGIN ENCRYPTED PRIVATE KEY-----\n-----END\n{pem}");
        let second = format!("-----BEGIN ENCRYPTED PRIVATE KEY-----\n-----END ENCRYPTED PRIVATE KEY-----\n{pem}");
        let not_text = [&[0xff, b'\n'], pem.as_bytes()].concat();
        for data in [key, pem.as_bytes(), decoy.as_bytes(), second.as_bytes(), &not_text] {
            let text = text(data, data != key.as_slice(), "pkcs8", Some(b"x"));
            let error = read_private(&text).unwrap_err().to_string();
            let refused = ["rounds", "not written in DER"].iter().any(|reason| error.contains(reason));
            assert!(refused || data == second.as_bytes(), "{error}");
        }
    }
}

#[test]
fn a_forked_hash_goes_on_alone() {
    let mut one = HashState::new(Digest::from_name("sha1").unwrap(), None).unwrap();
    one.update(b"a").unwrap();
    let mut other = one.fork(None).unwrap();
    other.update(b"b").unwrap();
    assert_ne!(one.finish().unwrap(), other.finish().unwrap());
}

proptest! {
    #[test]
    fn a_cipher_in_pieces_is_the_cipher(
        pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..8),
        name in prop_oneof![
            Just("aes-128-cbc"), Just("aes-256-ctr"), Just("aes-192-gcm"), Just("chacha20-poly1305"), Just("des-ede3-cbc"),
            Just("aes-128-ocb"), Just("chacha20"), Just("aes-128-cfb8"),
        ],
    ) {
        let info = cipher_info(name).unwrap();
        let (key, iv) = (vec![7; info.key_bytes], vec![9; info.iv_bytes]);
        let tag_bytes = (name == "aes-128-ocb").then_some(16);
        let mut sealed = Vec::new();
        let mut cipher = CipherState::new(name, CipherDirection::Encrypt, &key, Some(&iv), tag_bytes).unwrap();
        for piece in &pieces {
            sealed.extend(cipher.update(piece).unwrap());
        }
        sealed.extend(cipher.finish().unwrap());
        let mut decipher = CipherState::new(name, CipherDirection::Decrypt, &key, Some(&iv), tag_bytes).unwrap();
        if let Some(tag) = cipher.tag() {
            prop_assert!(decipher.set_tag(tag).unwrap());
        }
        let mut opened = decipher.update(&sealed).unwrap();
        opened.extend(decipher.finish().unwrap());
        prop_assert_eq!(opened, pieces.concat());
    }

    #[test]
    fn garbage_is_an_error(
        data in proptest::collection::vec(any::<u8>(), 0..200),
        form in prop_oneof![Just("pkcs1"), Just("pkcs8"), Just("sec1"), Just("spki"), Just("")],
        pem in any::<bool>(),
        name in prop_oneof![Just("aes-128-gcm"), Just("aes-128-ccm"), Just("aes-128-cbc"), Just("aes128-wrap"), Just("des3-wrap")],
    ) {
        prop_assert!(read_private(&text(&data, pem, form, Some(&data))).is_err());
        prop_assert!(read_public(&text(&data, pem, form, None)).is_err());
        for direction in [CipherDirection::Encrypt, CipherDirection::Decrypt] {
            if let Ok(mut cipher) = CipherState::new(name, direction, &[1; 16], Some(&data), Some(data.len())) {
                drop(cipher.set_additional_data(&data, Some(data.len())));
                drop(cipher.set_tag(&data));
                drop(cipher.update(&data));
                drop(cipher.update(&data));
                drop(cipher.finish());
                drop(cipher.finish());
            }
        }
        let mut hmac = HmacState::new(Digest::from_name("md5").unwrap(), &data).unwrap();
        hmac.update(&data).unwrap();
        prop_assert_eq!(hmac.finish().unwrap().len(), 16);
        let secret = CryptoKey::Secret(data);
        prop_assert!(write_private(&secret, pem, form, None).is_err());
    }
}
