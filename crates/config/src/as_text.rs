//! Serialises values as the text in which they are written. The receiving process parses it again,
//! so only valid values arrive.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serializer, de::Error};

pub(crate) fn serialize<T: fmt::Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

pub(crate) fn deserialize<'de, T, D: Deserializer<'de>>(from: D) -> Result<T, D::Error>
where
    T: FromStr<Err: fmt::Display>,
{
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}

/// The text of a policy includes its ceilings; each is sent separately.
pub(crate) mod egress {
    use hearth_egress_policy::EgressPolicy;
    use serde::Serialize;

    use super::*;

    pub(crate) fn serialize<S: Serializer>(policy: &EgressPolicy, to: S) -> Result<S::Ok, S::Error> {
        policy.to_string().split(" within ").collect::<Vec<_>>().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<EgressPolicy, D::Error> {
        let layers = Vec::<String>::deserialize(from)?;
        let mut policies = layers.iter().map(|layer| EgressPolicy::parse(layer).map_err(D::Error::custom));
        let own = policies.next().unwrap_or_else(|| Err(D::Error::custom("an egress policy without layers")))?;
        policies.try_fold(own, |policy, ceiling| Ok(policy.within(&ceiling?)))
    }
}
