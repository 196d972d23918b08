//! The model keeps every contract.

use std::sync::Arc;

use kinfolk_conformance::Model;

async fn fixture() -> Arc<Model> {
    Arc::new(Model::new())
}

kinfolk_conformance::contracts!(fixture);
