//! Prime numbers, big endian. Those of a given remainder are looked for here, since OpenSSL looks for ever where there is none.

use openssl::bn::{BigNum, BigNumContext, BigNumRef, MsbOption};

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
    let prime = if let Some(add) = &add {
        // As in OpenSSL.
        let rem = rem.map_or_else(|| BigNum::from_u32(if safe { 3 } else { 1 }), Ok)?;
        with_remainder(bits, safe, add, &rem)?
    } else {
        let mut prime = BigNum::new()?;
        prime.generate_prime(bits, safe, None, None)?;
        prime
    };
    Ok(prime.to_vec_padded((bits + 7) / 8)?)
}

/// Every so many bits there is a prime, and much rarer a safe one: so many candidates are nearly sure to have one, if there
/// are any.
pub(super) fn max_candidates(bits: u32, safe: bool) -> u64 {
    let bits = u64::from(bits);
    1000 + if safe { bits * bits * 6 } else { bits * 16 }
}

fn with_remainder(bits: i32, safe: bool, add: &BigNumRef, rem: &BigNumRef) -> Result<BigNum> {
    let none = || NodeError::coded("ERR_OUT_OF_RANGE", "no prime fits options.add and options.rem");
    let mut context = BigNumContext::new()?;
    let (one, two) = (BigNum::from_u32(1)?, BigNum::from_u32(2)?);
    let mut divisor = BigNum::new()?;
    divisor.gcd(add, rem, &mut context)?;
    if divisor > one {
        return Err(none());
    }
    // The half of a safe prime is one too.
    divisor.gcd(add, &(rem - &one), &mut context)?;
    if safe && divisor > two {
        return Err(none());
    }
    let (mut start, mut excess) = (BigNum::new()?, BigNum::new()?);
    for _ in 0..max_candidates(bits.unsigned_abs(), safe) {
        start.rand(bits, MsbOption::ONE, false)?;
        excess.checked_rem(&start, add, &mut context)?;
        let mut candidate = &(&start - &excess) + rem;
        if candidate.num_bits() < bits {
            candidate = &candidate + add;
        }
        if candidate.num_bits() == bits && is_found(&candidate, safe, &mut context)? {
            return Ok(candidate);
        }
    }
    Err(none())
}

/// What costs least is asked first: whether small numbers divide it, then one exponentiation.
fn is_found(candidate: &BigNumRef, safe: bool, context: &mut BigNumContext) -> Result<bool> {
    let mut half = BigNum::new()?;
    half.rshift1(candidate)?;
    if candidate.num_bits() > 16 {
        for divisor in (2..256).filter(|n| (2..*n).all(|m| n % m != 0)) {
            let rest = candidate.mod_word(divisor)?;
            if rest == 0 || (safe && divisor > 2 && rest == 1) {
                return Ok(false);
            }
        }
        if (safe && !seems_prime(&half, context)?) || !seems_prime(candidate, context)? {
            return Ok(false);
        }
    }
    Ok((!safe || half.is_prime(0, context)?) && candidate.is_prime(0, context)?)
}

/// Fermat's test.
fn seems_prime(odd: &BigNumRef, context: &mut BigNumContext) -> Result<bool> {
    if !odd.is_bit_set(0) {
        return Ok(false);
    }
    let (one, two) = (BigNum::from_u32(1)?, BigNum::from_u32(2)?);
    let mut power = BigNum::new()?;
    power.mod_exp(&two, &(odd - &one), odd, context)?;
    Ok(power == one)
}

pub(super) fn check(candidate: &[u8], checks: u32) -> Result<bool> {
    let checks = i32::try_from(checks).unwrap_or(i32::MAX);
    Ok(BigNum::from_slice(candidate)?.is_prime(checks, &mut *BigNumContext::new()?)?)
}
