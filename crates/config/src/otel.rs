//! `otel:` in `hearth.yaml`: the target of metrics and traces (OpenTelemetry, OTLP over HTTP as
//! JSON).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::ConfigProblem;
use crate::fields::{Fields, Read};
use crate::settings::Env;
use crate::value;
use crate::yaml::Node;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Otel {
    /// `http://collector:4318`: `/v1/metrics` and `/v1/traces` are below it.
    pub endpoint: OtlpEndpoint,
    /// Headers of each export, such as a token.
    pub headers: Env,
    /// The interval of metrics exports.
    pub interval: Duration,
    /// The fraction of requests without a trace context that are traced. A trace context of the
    /// request decides for itself.
    pub traces: Ratio,
    /// The name of this server.
    pub service: String,
}

/// An address that begins with `http://` or `https://`, without a final slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtlpEndpoint(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no address of a collector: write http://HOST:4318 or https://HOST:4318")]
pub struct EndpointError(String);

/// From none (0) to all (1), in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ratio {
    millionths: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a ratio: write a number from 0 (none) to 1 (all), such as 0.1")]
pub struct RatioError(String);

// === impl Otel ===

impl Otel {
    pub const INTERVAL: Duration = Duration::from_secs(30);
    pub const SERVICE: &str = "hearth";

    /// The defaults for everything but the endpoint.
    pub fn to(endpoint: OtlpEndpoint) -> Self {
        let service = Self::SERVICE.to_owned();
        Self { endpoint, headers: Env::new(), interval: Self::INTERVAL, traces: Ratio::ALL, service }
    }

    pub(crate) fn read(node: &Node) -> Read<Self> {
        let mut fields = Fields::new(node)?;
        let endpoint = fields.read("endpoint", value::parsed("an address, such as http://127.0.0.1:4318"));
        let headers = fields.read("headers", value::env);
        let interval = fields.read("interval", value::some_time);
        let traces = fields.read("traces", |node| {
            value::literal(node)?.parse().or_else(|error: RatioError| value::fault(node, error))
        });
        let service = fields.read("service", value::text);
        if fields.position("endpoint").is_none() {
            fields.fault_at(node.at, ConfigProblem::Missing { key: "endpoint" });
        }
        fields.finish()?;
        let Some(endpoint) = endpoint else { return value::fault(node, ConfigProblem::Empty) };
        let base = Self::to(endpoint);
        Ok(Self {
            headers: headers.unwrap_or_default(),
            interval: interval.unwrap_or(base.interval),
            traces: traces.unwrap_or(base.traces),
            service: service.unwrap_or(base.service),
            endpoint: base.endpoint,
        })
    }
}

// === impl OtlpEndpoint ===

impl OtlpEndpoint {
    /// The URL for one signal: `metrics`, `traces`.
    pub fn of(&self, signal: &str) -> String {
        format!("{}/v1/{signal}", self.0)
    }
}

impl FromStr for OtlpEndpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#');
        match host {
            Some(host) if !host.starts_with(['/', ':']) && !host.is_empty() && host.bytes().all(is_plain) => {
                Ok(Self(text.trim_end_matches('/').to_owned()))
            }
            _ => Err(EndpointError(text.to_owned())),
        }
    }
}

impl fmt::Display for OtlpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// === impl Ratio ===

impl Ratio {
    pub const NONE: Self = Self { millionths: 0 };
    pub const ALL: Self = Self { millionths: 1_000_000 };

    /// Whether an item is sampled; `random` must be uniformly distributed.
    pub fn chooses(self, random: u64) -> bool {
        random % 1_000_000 < u64::from(self.millionths)
    }
}

impl FromStr for Ratio {
    type Err = RatioError;

    fn from_str(text: &str) -> Result<Self, RatioError> {
        let number = text.trim().parse::<f64>().ok().filter(|number| (0.0..=1.0).contains(number));
        let millionths = |number: f64| (number * 1e6).round() as u32;
        number.map(|number| Self { millionths: millionths(number) }).ok_or_else(|| RatioError(text.to_owned()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ratios() {
        let ratio = |text: &str| text.parse::<Ratio>();
        assert_eq!(
            (ratio("0").unwrap(), ratio("1").unwrap(), ratio(" 1.0 ").unwrap()),
            (Ratio::NONE, Ratio::ALL, Ratio::ALL)
        );
        let tenth = ratio("0.1").unwrap();
        assert_eq!((0..1_000_000).filter(|random| tenth.chooses(*random)).count(), 100_000);
        assert!(!Ratio::NONE.chooses(0) && Ratio::ALL.chooses(u64::MAX));
        for text in ["", "-0.1", "1.1", "10%", "NaN", "inf"] {
            assert!(ratio(text).is_err(), "{text}");
        }
    }

    #[test]
    fn endpoints() {
        let endpoint: OtlpEndpoint = "http://127.0.0.1:4318/otlp/".parse().unwrap();
        assert_eq!(endpoint.of("traces"), "http://127.0.0.1:4318/otlp/v1/traces");
        for text in ["", "collector:4318", "grpc://a", "http://", "http:///x", "http://:1", "http://a b", "http://a?b"]
        {
            assert!(text.parse::<OtlpEndpoint>().is_err(), "{text}");
        }
    }
}
