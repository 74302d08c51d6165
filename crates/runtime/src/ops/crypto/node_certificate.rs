//! X.509 certificates of Node's `crypto`. JavaScript keeps them as DER; each call reads them again, which is a matter of
//! microseconds.

use hearth_crypto::node::{CertificateFields, X509Certificate};

use super::Scope;
use super::keys::Keys;
use super::values::Values;
use crate::op_error::OpError;
use crate::ops::convert::{buffer_value, string_of, text_value, with_bytes};
use crate::ops::{Arguments, Return};

/// (method, certificate, values)
pub(in crate::ops) fn op_node_crypto_certificate<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let method = string_of(scope, args.get(0))?;
    let certificate = with_bytes(args.get(1), |data| X509Certificate::read(data))??;
    match method.as_str() {
        "read" => {
            let (der, fields) = (certificate.to_der()?, certificate.fields()?);
            let value = fields_value(scope, &der, &fields)?;
            rv.set(value.into());
        }
        "pem" => {
            let buffer = buffer_value(scope, &certificate.to_pem()?);
            rv.set(buffer.into());
        }
        "public-key" => {
            let key = certificate.public_key()?;
            rv.set_double(Keys::of(scope).insert(key) as f64);
        }
        "issued-by" => {
            let issuer = X509Certificate::read(&Values::new(scope, args.get(2))?.bytes()?)?;
            rv.set_bool(certificate.was_issued_by(&issuer));
        }
        "signed-by" => {
            let key = Values::new(scope, args.get(2))?.key()?;
            rv.set_bool(certificate.is_signed_by(&key)?);
        }
        "belongs-to" => {
            let key = Values::new(scope, args.get(2))?.key()?;
            rv.set_bool(certificate.belongs_to(&key)?);
        }
        _ => return Err(OpError::type_error("internal: no such method")),
    }
    Ok(())
}

/// [DER, subject, issuer, alternative names, access to information, extended usages, serial number, from, to, CA?, algorithm,
/// its identifier]; names are [kind, value, ...].
fn fields_value<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    der: &[u8],
    fields: &CertificateFields,
) -> Result<v8::Local<'s, v8::Array>, OpError> {
    let mut values: Vec<v8::Local<'s, v8::Value>> = vec![buffer_value(scope, der).into()];
    let owned = |pairs: &[(String, String)]| -> Vec<String> {
        pairs.iter().flat_map(|(kind, value)| [kind.clone(), value.clone()]).collect()
    };
    let alternatives = fields.alternative_names.iter().flat_map(|(kind, value)| [(*kind).to_owned(), value.clone()]);
    let lists = [
        owned(&fields.subject),
        owned(&fields.issuer),
        alternatives.collect(),
        owned(&fields.info_access),
        fields.extended_usages.clone(),
    ];
    for list in &lists {
        let mut texts: Vec<v8::Local<'s, v8::Value>> = Vec::new();
        for text in list {
            texts.push(text_value(scope, text)?.into());
        }
        values.push(v8::Array::new_with_elements(scope, &texts).into());
    }
    for text in [&fields.serial_number, &fields.valid_from, &fields.valid_to] {
        values.push(text_value(scope, text)?.into());
    }
    values.push(v8::Boolean::new(scope, fields.is_ca).into());
    for text in [&fields.signature_algorithm, &fields.signature_algorithm_oid] {
        values.push(text_value(scope, text)?.into());
    }
    Ok(v8::Array::new_with_elements(scope, &values))
}
