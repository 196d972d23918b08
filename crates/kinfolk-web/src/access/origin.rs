//! Where a request comes from. A page of another site may make a browser send us a request; such a request changes nothing.
//! And a site whose name was made to point at this machine is not let in at all.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};

use crate::problem::Problem;

/// The host names that requests may be sent to.
#[derive(Clone, Debug)]
pub(crate) enum Hosts {
    /// Any.
    Any,
    /// These; without ports.
    Only(Vec<String>),
}

/// The names of this machine for itself.
pub(crate) const THIS_MACHINE: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses what is sent to another host name, and changes that another site asks for.
pub(super) fn check(parts: &Parts, hosts: &Hosts) -> Result<(), Problem> {
    let host = host(parts);
    if let Hosts::Only(names) = hosts {
        let name = host.map(without_port).unwrap_or_default();
        if !names.iter().any(|allowed| allowed.eq_ignore_ascii_case(name)) {
            let detail = format!(
                "this server does not answer for the host {name:?}; use the address it printed, or add the host to \
                 `hosts` in its configuration"
            );
            return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, "host", detail));
        }
    }
    if matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS) || is_own(&parts.headers, host) {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "cross_site",
        "another site asks for this change; open this server's own page",
    ))
}

/// Whether a request comes from no page at all, or from one of ours.
fn is_own(headers: &HeaderMap, host: Option<&str>) -> bool {
    let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let site = text(&FETCH_SITE).is_none_or(|site| matches!(site, "same-origin" | "none"));
    let origin = text(&header::ORIGIN).is_none_or(|origin| {
        let there = origin.split_once("://").map(|(_, there)| there);
        there.is_some() && there == host
    });
    site && origin
}

fn host(parts: &Parts) -> Option<&str> {
    let named = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    named.or_else(|| parts.uri.authority().map(axum::http::uri::Authority::as_str))
}

fn without_port(host: &str) -> &str {
    match host.rfind(':') {
        Some(colon) if !host[colon..].contains(']') => &host[..colon],
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn checked(method: &str, headers: &[(&str, &str)], hosts: &Hosts) -> Result<(), u16> {
        let mut request = Request::builder().method(method).uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        check(&request.body(()).unwrap().into_parts().0, hosts).map_err(|problem| problem.status)
    }

    #[test]
    fn another_host_name_is_refused() {
        let own = Hosts::Only(THIS_MACHINE.map(str::to_owned).to_vec());
        for host in ["localhost:8080", "127.0.0.1", "[::1]:8080", "[::1]", "LOCALHOST"] {
            assert_eq!(checked("GET", &[("host", host)], &own), Ok(()), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:8080", "", "127.0.0.1.evil.example", "[::2]:80"] {
            assert_eq!(checked("GET", &[("host", host)], &own), Err(421), "{host}");
        }
        assert_eq!(checked("GET", &[], &own), Err(421));
        assert_eq!(checked("GET", &[("host", "anything")], &Hosts::Any), Ok(()));
    }

    #[test]
    fn another_site_may_not_change_anything() {
        let host = ("host", "localhost:8080");
        for own in [
            vec![host],
            vec![host, ("origin", "http://localhost:8080"), ("sec-fetch-site", "same-origin")],
            vec![host, ("sec-fetch-site", "none")],
        ] {
            assert_eq!(checked("POST", &own, &Hosts::Any), Ok(()), "{own:?}");
        }
        for other in [
            vec![host, ("origin", "http://evil.example")],
            vec![host, ("origin", "null")],
            vec![host, ("origin", "http://localhost:9090")],
            vec![host, ("sec-fetch-site", "cross-site")],
            vec![host, ("sec-fetch-site", "same-site")],
            vec![host, ("origin", "http://localhost:8080"), ("sec-fetch-site", "cross-site")],
        ] {
            assert_eq!(checked("POST", &other, &Hosts::Any), Err(403), "{other:?}");
            assert_eq!(checked("DELETE", &other, &Hosts::Any), Err(403), "{other:?}");
            assert_eq!(checked("GET", &other, &Hosts::Any), Ok(()), "to look is harmless: {other:?}");
        }
    }
}
