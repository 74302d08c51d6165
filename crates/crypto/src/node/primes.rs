//! Prime numbers, big endian.

use openssl::bn::{BigNum, BigNumContext};

use super::{NodeError, Result};

pub(super) fn generate(bits: u32, safe: bool, add: Option<&[u8]>, rem: Option<&[u8]>) -> Result<Vec<u8>> {
    let number = |bytes: Option<&[u8]>| bytes.map(BigNum::from_slice).transpose();
    let (add, rem) = (number(add)?, number(rem)?);
    if let Some(add) = &add {
        if add.num_bits() > bits as i32 {
            return Err(NodeError::coded("ERR_OUT_OF_RANGE", "invalid options.add"));
        }
        if rem.as_ref().is_some_and(|rem| rem >= add) {
            return Err(NodeError::coded("ERR_OUT_OF_RANGE", "invalid options.rem"));
        }
        if add.num_bits() == 0 {
            return Err(NodeError::coded("ERR_OUT_OF_RANGE", "invalid options.add"));
        }
    }
    let bits = i32::try_from(bits).map_err(|_| NodeError::coded("ERR_OUT_OF_RANGE", "invalid size"))?;
    let mut prime = BigNum::new()?;
    prime.generate_prime(bits, safe, add.as_deref(), rem.as_deref())?;
    Ok(prime.to_vec_padded((bits + 7) / 8)?)
}

pub(super) fn check(candidate: &[u8], checks: u32) -> Result<bool> {
    let checks = i32::try_from(checks).unwrap_or(i32::MAX);
    Ok(BigNum::from_slice(candidate)?.is_prime(checks, &mut *BigNumContext::new()?)?)
}
