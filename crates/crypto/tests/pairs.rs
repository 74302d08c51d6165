//! CryptoKey pairs through the public API: formats, signatures, agreement, encryption.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use hearth_crypto::{
    CryptoKey, Curve, Hash, JwkMembers, KeyFormat, KeyKind, KeyPair, OkpCurve, Operation, Output, RsaPadding,
    RsaParameters,
};

fn pair(operation: Operation) -> KeyPair {
    match operation.run().unwrap() {
        Output::Pair(pair) => pair,
        other => panic!("{other:?}"),
    }
}

fn bytes(operation: Operation) -> Vec<u8> {
    match operation.run().unwrap() {
        Output::Bytes(bytes) => bytes,
        other => panic!("{other:?}"),
    }
}

fn verdict(operation: Operation) -> bool {
    match operation.run().unwrap() {
        Output::Verdict(verdict) => verdict,
        other => panic!("{other:?}"),
    }
}

fn rsa(modulus_bits: u32) -> KeyPair {
    pair(Operation::GenerateRsa(RsaParameters { modulus_bits, public_exponent: vec![1, 0, 1] }))
}

/// Every format and back again: what is exported afterwards is the same.
fn goes_through_all_formats(kind: KeyKind, pair: &KeyPair) {
    let spki = pair.public.export(KeyFormat::Spki).unwrap();
    let public = CryptoKey::import(kind, KeyFormat::Spki, &spki).unwrap();
    assert_eq!(public.export(KeyFormat::Spki).unwrap(), spki);
    assert_eq!(
        CryptoKey::import_jwk(kind, &public.export_jwk().unwrap()).unwrap().export(KeyFormat::Spki).unwrap(),
        spki
    );
    if kind != KeyKind::Rsa {
        let raw = public.export(KeyFormat::Raw).unwrap();
        assert_eq!(CryptoKey::import(kind, KeyFormat::Raw, &raw).unwrap().export(KeyFormat::Spki).unwrap(), spki);
    }
    let pkcs8 = pair.private.export(KeyFormat::Pkcs8).unwrap();
    let private = CryptoKey::import(kind, KeyFormat::Pkcs8, &pkcs8).unwrap();
    assert_eq!(private.export(KeyFormat::Pkcs8).unwrap(), pkcs8);
    let jwk = private.export_jwk().unwrap();
    let again = CryptoKey::import_jwk(kind, &jwk).unwrap();
    assert_eq!(again.export(KeyFormat::Pkcs8).unwrap(), pkcs8);
    assert_eq!(again.public_half().unwrap().export(KeyFormat::Spki).unwrap(), spki);

    for (format, der) in [(KeyFormat::Spki, &spki), (KeyFormat::Pkcs8, &pkcs8)] {
        assert_eq!(CryptoKey::import(kind, format, &der[..der.len() - 1]).unwrap_err().name(), "DataError");
        assert_eq!(CryptoKey::import(kind, format, &[&der[..], &[0]].concat()).unwrap_err().name(), "DataError");
        assert_eq!(CryptoKey::import(kind, format, &[]).unwrap_err().name(), "DataError");
    }
    assert_eq!(CryptoKey::import(kind, KeyFormat::Pkcs8, &spki).unwrap_err().name(), "DataError");
}

#[test]
fn elliptic_curves() {
    for curve in Curve::ALL {
        let pair = pair(Operation::GenerateEc(curve));
        goes_through_all_formats(KeyKind::Ec(curve), &pair);
        let (public, private) = (Arc::new(pair.public), Arc::new(pair.private));
        let data = b"some text".to_vec();
        let signature = bytes(Operation::EcdsaSign { hash: Hash::Sha256, key: private.clone(), data: data.clone() });
        let verify = |signature: Vec<u8>, data: &[u8]| {
            verdict(Operation::EcdsaVerify { hash: Hash::Sha256, key: public.clone(), data: data.to_vec(), signature })
        };
        assert!(verify(signature.clone(), &data));
        assert!(!verify(signature.clone(), b"other text"));
        assert!(!verify(signature[1..].to_vec(), &data));
        assert!(!verify(vec![0; signature.len()], &data));
        assert!(!verify(vec![0xff; signature.len()], &data));
    }
}

#[test]
fn points_that_are_on_no_curve_are_refused() {
    for bytes in [&[][..], &[0], &[4], &[4; 65], &[0xff; 33], &[9; 65]] {
        let key = CryptoKey::import(KeyKind::Ec(Curve::P256), KeyFormat::Raw, bytes);
        assert_eq!(key.unwrap_err().name(), "DataError", "{bytes:?}");
    }
}

#[test]
fn a_key_of_another_curve_is_refused() {
    let pair = pair(Operation::GenerateEc(Curve::P256));
    let spki = pair.public.export(KeyFormat::Spki).unwrap();
    for kind in [KeyKind::Ec(Curve::P384), KeyKind::Rsa, KeyKind::Okp(OkpCurve::Ed25519)] {
        assert_eq!(CryptoKey::import(kind, KeyFormat::Spki, &spki).unwrap_err().name(), "DataError");
    }
}

#[test]
fn octet_key_pairs() {
    for curve in OkpCurve::ALL {
        let pair = pair(Operation::GenerateOkp(curve));
        goes_through_all_formats(KeyKind::Okp(curve), &pair);
        let (public, private) = (Arc::new(pair.public), Arc::new(pair.private));
        if matches!(curve, OkpCurve::Ed25519 | OkpCurve::Ed448) {
            let signature = bytes(Operation::EddsaSign { key: private, data: b"text".to_vec() });
            let verify = |signature: Vec<u8>, data: &[u8]| {
                verdict(Operation::EddsaVerify { key: public.clone(), data: data.to_vec(), signature })
            };
            assert!(verify(signature.clone(), b"text"));
            assert!(!verify(signature.clone(), b"texts"));
            assert!(!verify(signature[..10].to_vec(), b"text"));
        }
    }
}

#[test]
fn both_sides_agree() {
    let kinds = [
        Operation::GenerateEc(Curve::P256),
        Operation::GenerateEc(Curve::P521),
        Operation::GenerateOkp(OkpCurve::X25519),
        Operation::GenerateOkp(OkpCurve::X448),
    ];
    for kind in kinds {
        let (one, two) = (pair(kind.clone()), pair(kind));
        let agree = |private: &CryptoKey, public: &CryptoKey| {
            bytes(Operation::Agree { private: Arc::new(private.clone()), public: Arc::new(public.clone()) })
        };
        assert_eq!(agree(&one.private, &two.public), agree(&two.private, &one.public));
        assert_ne!(agree(&one.private, &two.public), agree(&one.private, &one.public));
    }
}

#[test]
fn a_public_key_of_small_order_is_refused() {
    let own = pair(Operation::GenerateOkp(OkpCurve::X25519));
    let zero = CryptoKey::import(KeyKind::Okp(OkpCurve::X25519), KeyFormat::Raw, &[0; 32]).unwrap();
    let agreed = Operation::Agree { private: Arc::new(own.private), public: Arc::new(zero) }.run();
    assert_eq!(agreed.unwrap_err().name(), "OperationError");
}

#[test]
fn rsa_signs_and_encrypts() {
    let pair = rsa(2048);
    goes_through_all_formats(KeyKind::Rsa, &pair);
    assert_eq!(pair.public.rsa_parameters().unwrap().modulus_bits, 2048);
    assert_eq!(pair.private.rsa_parameters().unwrap().public_exponent, [1, 0, 1]);
    let (public, private) = (Arc::new(pair.public), Arc::new(pair.private));
    let paddings = [
        RsaPadding::Pkcs1,
        RsaPadding::Pss { salt_bytes: 0 },
        RsaPadding::Pss { salt_bytes: 32 },
        RsaPadding::Pss { salt_bytes: 100 },
    ];
    for padding in paddings {
        let sign = Operation::RsaSign { padding, hash: Hash::Sha256, key: private.clone(), data: b"text".to_vec() };
        let signature = bytes(sign);
        let verify = |padding, data: &[u8], signature: &[u8]| {
            verdict(Operation::RsaVerify {
                padding,
                hash: Hash::Sha256,
                key: public.clone(),
                data: data.to_vec(),
                signature: signature.to_vec(),
            })
        };
        assert!(verify(padding, b"text", &signature));
        assert!(!verify(padding, b"texts", &signature));
        assert!(!verify(padding, b"text", &signature[1..]));
        assert!(!verify(RsaPadding::Pss { salt_bytes: 7 }, b"text", &signature));
    }
    for label in [&b""[..], b"label"] {
        let encrypt = |hash, label: &[u8]| Operation::RsaEncrypt {
            hash,
            label: label.to_vec(),
            key: public.clone(),
            data: b"a secret".to_vec(),
        };
        let decrypt = |label: &[u8], data| Operation::RsaDecrypt {
            hash: Hash::Sha256,
            label: label.to_vec(),
            key: private.clone(),
            data,
        };
        let sealed = bytes(encrypt(Hash::Sha256, label));
        assert_eq!(bytes(decrypt(label, sealed.clone())), b"a secret");
        assert_eq!(decrypt(b"another", sealed).run().unwrap_err().name(), "OperationError");
    }
}

#[test]
fn rsa_parameters_that_make_no_key_are_refused() {
    for (modulus_bits, public_exponent) in [
        (2048, vec![]),
        (2048, vec![1]),
        (2048, vec![1, 0, 0]),
        (2048, vec![1; 9]),
        (16, vec![1, 0, 1]),
        (1 << 20, vec![3]),
    ] {
        let made =
            Operation::GenerateRsa(RsaParameters { modulus_bits, public_exponent: public_exponent.clone() }).run();
        assert_eq!(made.unwrap_err().name(), "OperationError", "{modulus_bits} {public_exponent:?}");
    }
}

#[test]
fn rsa_factors_belong_to_the_modulus() {
    let (one, two) = (rsa(1024).private.export_jwk().unwrap(), rsa(1024).private.export_jwk().unwrap());
    let mixed = one.iter().map(|(name, value)| {
        let other = two.iter().find(|(known, _)| *known == name).unwrap().1;
        (name, if name == "p" { other } else { value }.to_owned())
    });
    let key = CryptoKey::import_jwk(KeyKind::Rsa, &JwkMembers::from_pairs(mixed));
    assert_eq!(key.unwrap_err().name(), "DataError");
}

#[test]
fn members_that_are_missing_or_no_base64url_are_named() {
    let jwk = JwkMembers::from_pairs([("x", "a+b/".to_owned())]);
    let error = CryptoKey::import_jwk(KeyKind::Okp(OkpCurve::Ed25519), &jwk).unwrap_err();
    assert_eq!(error.to_string(), "the key's member \"x\" is not base64url");
    let error = CryptoKey::import_jwk(KeyKind::Rsa, &jwk).unwrap_err();
    assert_eq!(error.to_string(), "the key has no member \"n\"");
}

#[test]
fn what_takes_long_says_so() {
    let quick = Operation::Digest { hash: Hash::Sha256, data: vec![0; 1000] };
    let slow = Operation::Pbkdf2 {
        hash: Hash::Sha256,
        key: Arc::new(CryptoKey::Secret(b"x".to_vec())),
        salt: vec![],
        iterations: 100_000,
        bytes: 32,
    };
    let slower = Operation::GenerateRsa(RsaParameters { modulus_bits: 4096, public_exponent: vec![1, 0, 1] });
    assert!(quick.estimated_cost().as_micros() < 200);
    assert!(slow.estimated_cost().as_millis() > 10);
    assert!(slower.estimated_cost() > slow.estimated_cost());
}
