//! The OpenAPI document: made from the handlers, and completed with what all of them have in common.

use utoipa::OpenApi;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Components, ContentBuilder, Ref, RefOr, ResponseBuilder, SecurityRequirement};

use crate::problem::Problem;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Kinfolk",
        version = "1",
        description = "Durable tasks: list, look, enqueue, cancel, retry. Errors are problem documents with a stable code.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    components(schemas(Problem)),
    tags(
        (name = "tasks", description = "One task, and many"),
        (name = "families", description = "A root and all its descendants"),
        (name = "site", description = "Queues, commands, workers, groups, schedules, counts"),
        (name = "live", description = "Server-sent events"),
        (name = "access", description = "Who may do what, and who did")
    )
)]
pub(super) struct Frame;

/// Adds to every operation the problems it may answer with, and the token it needs.
pub(super) fn complete(api: &mut utoipa::openapi::OpenApi) {
    let components = api.components.get_or_insert_with(Components::default);
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    components.add_security_scheme("token", SecurityScheme::Http(bearer));
    for (path, item) in &mut api.paths.paths {
        let named = path.contains('{');
        for operation in operations(item) {
            let asks = operation.parameters.as_ref().is_some_and(|all| !all.is_empty());
            let body = operation.request_body.is_some();
            let acts = body || path.rsplit('/').next().is_some_and(|last| ACTS.contains(&last));
            let mut add = |status: &str, meaning: &str| problem(operation, status, meaning);
            add("401", "No token, or one that is not known");
            add("403", "The token's role, or where the request comes from, does not allow this");
            add("429", "Too many requests from this token; wait a second");
            add("503", "The database can't be used right now; nothing was done");
            if named {
                add("404", "There is no such thing, or it is hidden from this token");
            }
            if asks || named || body {
                add("400", "What was sent can't be used; nothing was done");
            }
            if body {
                add("413", "Too much at once; nothing was done");
                add("415", "The body is not JSON");
            }
            if acts {
                add("404", "There is no such thing, or it is hidden from this token");
                add("409", "Not in this state; nothing was done");
                add("422", "Refused for the reason given; nothing was done");
            }
            let token = SecurityRequirement::new::<_, [&str; 0], &str>("token", []);
            operation.security = Some(vec![token, SecurityRequirement::default()]);
        }
    }
}

/// Paths that end like this change something.
const ACTS: &[&str] = &["cancel", "retry", "run-now", "acquit", "replay", "signal", "pause", "resume"];

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.post, &mut item.put, &mut item.delete].into_iter().flatten()
}

fn problem(operation: &mut Operation, status: &str, meaning: &str) {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    let response = ResponseBuilder::new().description(meaning).content("application/problem+json", content).build();
    operation.responses.responses.entry(status.to_owned()).or_insert(RefOr::T(response));
}
