//! The folder `deploy`: its files can be read, name only metrics that the code has, and let nothing run as root.

use std::collections::BTreeSet;

use yaml_rust2::{Yaml, YamlLoader};

use super::Tree;

/// Where metrics are measured, and how the line begins that names one.
const MEASURED: [(&str, &[&str]); 2] = [
    ("crates/kinfolk/src/", &["counter!(\"", "gauge!(\"", "histogram!(\""]),
    ("crates/kinfolk-web/src/metrics.rs", &["family(&mut text, \""]),
];

/// What Prometheus makes of a histogram.
const PARTS: [&str; 3] = ["_bucket", "_sum", "_count"];

pub(super) fn check(tree: &mut Tree) {
    let measured = measured(tree);
    if measured.is_empty() {
        return tree.find("xtask/src/tidy/deploy.rs", 1, "no metric was found in the sources");
    }
    let page = tree.text("docs/events.md").unwrap_or_default().to_owned();
    for name in measured.iter().filter(|name| !page.contains(&format!("| `{name}` |"))) {
        tree.find("docs/events.md", 1, format_args!("it says nothing of the metric {name}"));
    }
    let files: Vec<(String, String)> = tree
        .files
        .iter()
        .filter(|file| file.path.starts_with("deploy/"))
        .map(|file| (file.path.clone(), file.text.clone()))
        .collect();
    for (path, text) in &files {
        if path.starts_with("deploy/grafana/") || path.starts_with("deploy/prometheus/") {
            for name in named(text).iter().filter(|name| !measured.contains(*name)) {
                tree.find(path, 1, format_args!("there is no metric {name}"));
            }
        }
        for fault in unreadable(path, text).into_iter().chain(unsafe_pods(path, text)) {
            tree.find(path, 1, fault);
        }
    }
}

/// The names of all metrics.
fn measured(tree: &Tree) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (folder, beginnings) in MEASURED {
        for file in tree.files.iter().filter(|file| file.path.starts_with(folder)) {
            for beginning in beginnings {
                names.extend(
                    file.text.split(beginning).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned),
                );
            }
        }
    }
    names
}

/// The metrics that a text names.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let words = words.filter(|word| word.starts_with("kinfolk_"));
    words.map(|word| PARTS.iter().find_map(|part| word.strip_suffix(part)).unwrap_or(word).to_owned()).collect()
}

/// Why a file can't be read, if it can't.
fn unreadable(path: &str, text: &str) -> Option<String> {
    if path.ends_with(".yaml") {
        return YamlLoader::load_from_str(text).err().map(|fault| fault.to_string());
    }
    if path.ends_with(".json") {
        return serde_json::from_str::<serde_json::Value>(text).err().map(|fault| fault.to_string());
    }
    None
}

/// What a manifest of Kubernetes lacks: every container runs without rights, and one that goes on is asked for signs of life.
fn unsafe_pods(path: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for document in YamlLoader::load_from_str(text).unwrap_or_default() {
        let pod = &document["spec"]["template"]["spec"];
        if !path.starts_with("deploy/kubernetes/") || pod.is_badvalue() {
            continue;
        }
        let mut need = |holds: bool, what: &str| {
            if !holds {
                faults.push(what.to_owned());
            }
        };
        need(pod["securityContext"]["runAsNonRoot"].as_bool() == Some(true), "a pod runs as root");
        for container in pod["containers"].as_vec().into_iter().flatten() {
            let context = &container["securityContext"];
            need(context["allowPrivilegeEscalation"].as_bool() == Some(false), "a container may gain rights");
            need(context["readOnlyRootFilesystem"].as_bool() == Some(true), "a container may write to its image");
            need(!container["resources"]["limits"]["memory"].is_badvalue(), "a container has no limit of memory");
            if document["kind"].as_str() == Some("Deployment") {
                for (probe, path) in [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")] {
                    need(container[probe]["httpGet"]["path"] == Yaml::String(path.to_owned()), probe);
                }
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_that_nobody_measures_is_found() {
        let code =
            ("crates/kinfolk/src/observe.rs", "counter!(\"kinfolk_a_total\") histogram!(\"kinfolk_b_seconds\", x)");
        let page = ("docs/events.md", "| `kinfolk_a_total` |\n| `kinfolk_b_seconds` |\n");
        let rules =
            ("deploy/prometheus/a.yaml", "expr: rate(kinfolk_a_total[5m]) + kinfolk_b_seconds_bucket + kinfolk_c\n");
        let mut tree = Tree::of(&[code, page, rules]);
        check(&mut tree);
        assert_eq!(tree.findings, ["deploy/prometheus/a.yaml:1: there is no metric kinfolk_c"]);
    }

    #[test]
    fn a_file_that_is_no_yaml_and_a_pod_that_runs_as_root_are_found() {
        assert!(unreadable("deploy/a.yaml", "a: [1").is_some());
        let pod = "kind: Deployment\nspec: {template: {spec: {containers: []}}}\n";
        assert_eq!(unsafe_pods("deploy/kubernetes/a.yaml", pod), ["a pod runs as root"]);
    }
}
