//! The embedded store keeps every contract.

mod fixture;

use fixture::fixture;

kinfolk_conformance::contracts!(fixture);
