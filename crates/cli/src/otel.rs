//! OpenTelemetry's standard environment variables, over `otel:` of `hearth.yaml`:
//! <https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/>. Those that are used here are
//! `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_METRIC_EXPORT_INTERVAL`, `OTEL_TRACES_SAMPLER_ARG`,
//! `OTEL_SERVICE_NAME` and `OTEL_SDK_DISABLED`.

use std::time::Duration;

use anyhow::Context;
use hearth_config::{Otel, OtlpEndpoint};
use hearth_core::percent;

/// The file's settings with the environment's laid over them.
pub fn over(written: Option<Otel>) -> anyhow::Result<Option<Otel>> {
    laid_over(written, |name| {
        std::env::var(name).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    })
}

fn laid_over(written: Option<Otel>, variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Option<Otel>> {
    if variable("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    let endpoint = variable("OTEL_EXPORTER_OTLP_ENDPOINT").map(|text| text.parse::<OtlpEndpoint>()).transpose();
    let endpoint = endpoint.context("OTEL_EXPORTER_OTLP_ENDPOINT")?;
    let mut otel = match (written, endpoint) {
        (Some(written), Some(endpoint)) => Otel { endpoint, ..written },
        (Some(written), None) => written,
        (None, Some(endpoint)) => Otel::to(endpoint),
        // The other variables alone switch nothing on.
        (None, None) => return Ok(None),
    };
    if let Some(text) = variable("OTEL_EXPORTER_OTLP_HEADERS") {
        for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
            let read =
                pair.split_once('=').and_then(|(name, value)| Some((name.trim(), percent::decode(value.trim())?)));
            let (name, value) = read
                .with_context(|| format!("OTEL_EXPORTER_OTLP_HEADERS: {pair:?} is not NAME=VALUE, percent-encoded"))?;
            otel.headers.insert(name.to_owned(), value);
        }
    }
    if let Some(text) = variable("OTEL_METRIC_EXPORT_INTERVAL") {
        let milliseconds = text.parse::<u64>().ok().filter(|number| *number > 0);
        let milliseconds = milliseconds
            .with_context(|| format!("OTEL_METRIC_EXPORT_INTERVAL: {text:?} is not a number of milliseconds"))?;
        otel.interval = Duration::from_millis(milliseconds);
    }
    if let Some(text) = variable("OTEL_TRACES_SAMPLER_ARG") {
        otel.traces = text.parse().context("OTEL_TRACES_SAMPLER_ARG")?;
    }
    if let Some(name) = variable("OTEL_SERVICE_NAME") {
        otel.service = name;
    }
    Ok(Some(otel))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn with(written: Option<Otel>, variables: &[(&str, &str)]) -> anyhow::Result<Option<Otel>> {
        laid_over(written, |name| variables.iter().find(|(key, _)| *key == name).map(|(_, text)| (*text).to_owned()))
    }

    #[test]
    fn variables_lie_over_the_file() {
        assert_eq!(with(None, &[("OTEL_SERVICE_NAME", "shop")]).unwrap(), None);
        let all = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20a, x-b=c"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "1500"),
            ("OTEL_TRACES_SAMPLER_ARG", "0"),
            ("OTEL_SERVICE_NAME", "shop"),
        ];
        let otel = with(None, &all).unwrap().unwrap();
        assert_eq!(otel.endpoint.of("metrics"), "http://127.0.0.1:4318/v1/metrics");
        assert_eq!((otel.headers["authorization"].as_str(), otel.headers["x-b"].as_str()), ("Bearer a", "c"));
        assert_eq!((otel.interval, otel.service.as_str()), (Duration::from_millis(1500), "shop"));
        let again = with(Some(otel.clone()), &all[1..2]).unwrap().unwrap();
        assert_eq!((again.interval, &again.endpoint), (otel.interval, &otel.endpoint));
        assert_eq!(with(Some(otel), &[("OTEL_SDK_DISABLED", "true")]).unwrap(), None);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        for (name, text) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "1s"),
            ("OTEL_TRACES_SAMPLER_ARG", "2"),
        ] {
            let error = with(None, &[(name, text), endpoint]).unwrap_err();
            assert!(format!("{error:#}").contains(name), "{error:#}");
        }
    }
}
