//! Programs outside of the workspace that use Kinfolk: their dependencies agree with each other, they are built, and what they
//! depend on is counted.
//!
//! Each stands in a folder of its own below `target`, with the lock of the workspace to begin with, so that both have the same
//! versions. They share one build folder, which makes all but the first run cheap.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that someone else writes.
struct Outside {
    name: &'static str,
    dependencies: &'static [&'static str],
    source: &'static str,
    /// What must not be among its dependencies.
    without: &'static [&'static str],
    /// How many packages it may depend on, ours among them.
    most: usize,
}

const OUTSIDE: [Outside; 4] = [
    Outside {
        name: "with_sqlx",
        dependencies: &[
            "kinfolk = { path = \"{root}/crates/kinfolk\" }",
            "kinfolk-sqlx = { path = \"{root}/crates/kinfolk-sqlx\", features = [\"sqlite\"] }",
            "sqlx = { version = \"0.9\", features = [\"postgres\", \"sqlite\", \"macros\", \"runtime-tokio\"] }",
        ],
        source: "pub async fn shop(pool: &sqlx::PgPool, task: kinfolk::NewTask) -> Result<(), Box<dyn std::error::Error>> {
            let mut transaction = pool.begin().await?;
            kinfolk_sqlx::enqueue_in(&mut transaction, &[task]).await?;
            Ok(transaction.commit().await?)
        }
        pub async fn own(pool: &sqlx::SqlitePool, task: kinfolk::NewTask) -> Result<(), Box<dyn std::error::Error>> {
            let mut transaction = pool.begin_with(\"begin immediate\").await?;
            kinfolk_sqlx::enqueue_in_sqlite(&mut transaction, &[task]).await?;
            Ok(transaction.commit().await?)
        }
        pub async fn tasks() -> Result<kinfolk::Kinfolk, kinfolk::Error> { kinfolk::Kinfolk::open(\"sqlite:tasks.db\").await }",
        without: &["openssl-sys"],
        most: 210,
    },
    Outside {
        name: "postgres_only",
        dependencies: &["kinfolk = { path = \"{root}/crates/kinfolk\", default-features = false, features = [\"postgres\"] }"],
        source: "pub async fn tasks(url: &str) -> Result<kinfolk::WorkerHandle, kinfolk::Error> {
            kinfolk::Kinfolk::open(url).await?.worker().start().await
        }",
        without: &["libsqlite3-sys", "rusqlite", "axum", "sqlx-core"],
        most: 135,
    },
    Outside {
        name: "sqlite_only",
        dependencies: &["kinfolk = { path = \"{root}/crates/kinfolk\", default-features = false, features = [\"sqlite\"] }"],
        source: "pub async fn tasks(url: &str) -> Result<kinfolk::WorkerHandle, kinfolk::Error> {
            kinfolk::Kinfolk::open(url).await?.worker().start().await
        }",
        without: &["tokio-postgres", "rustls", "ring", "axum", "sqlx-core"],
        most: 90,
    },
    Outside {
        name: "enqueues_only",
        dependencies: &[
            "kinfolk-core = { path = \"{root}/crates/kinfolk-core\" }",
            "kinfolk-sqlx = { path = \"{root}/crates/kinfolk-sqlx\" }",
            "sqlx-postgres = { version = \"0.9\", default-features = false }",
        ],
        source: "pub async fn ask(connection: &mut sqlx_postgres::PgConnection, task: kinfolk_core::NewTask) -> bool {
            kinfolk_sqlx::enqueue_in(connection, &[task]).await.is_ok()
        }",
        without: &["kinfolk", "kinfolk-postgres", "kinfolk-sqlite", "libsqlite3-sys", "tokio-postgres"],
        most: 140,
    },
];

#[test]
fn programs_outside_of_the_workspace_are_built_and_depend_on_little() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut report = String::new();
    for outside in &OUTSIDE {
        let folder = outside.write(root);
        // A program may need packages that are in the lock of the workspace, but that no build of the workspace has fetched yet.
        cargo(&folder, root, &["check", "--quiet"]);
        let tree =
            cargo(&folder, root, &["tree", "--offline", "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
        let packages: BTreeSet<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
        let names: Vec<&str> = packages.iter().filter_map(|package| package.split(' ').next()).collect();
        for name in outside.without {
            assert!(!names.contains(name), "{} depends on {name}", outside.name);
        }
        let sqlites = names.iter().filter(|name| **name == "libsqlite3-sys").count();
        assert!(sqlites <= 1, "{} links SQLite more than once", outside.name);
        let many = packages.len() - 1;
        report.push_str(&format!("{}: {many} packages\n", outside.name));
        assert!(many <= outside.most, "{} depends on {many} packages, {} at most", outside.name, outside.most);
    }
    println!("{report}");
}

impl Outside {
    /// Its folder, with everything in it.
    fn write(&self, root: &Path) -> PathBuf {
        let folder = root.join("target/outside").join(self.name);
        fs::create_dir_all(folder.join("src")).unwrap();
        let dependencies = self.dependencies.join("\n").replace("{root}", root.to_str().unwrap());
        let manifest = format!(
            "[package]\nname = \"{}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{dependencies}\n",
            self.name
        );
        for (path, text) in [("Cargo.toml", manifest.as_str()), ("src/lib.rs", self.source)] {
            // Left alone where it is the same, so that it is not built again.
            if fs::read_to_string(folder.join(path)).is_ok_and(|there| there == text) {
                continue;
            }
            fs::write(folder.join(path), text).unwrap();
        }
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
        folder
    }
}

/// What cargo prints. It must end well.
fn cargo(folder: &Path, root: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(folder).args(arguments).env("CARGO_TARGET_DIR", root.join("target/outside/target"));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?} in {}:\n{said}", folder.display());
    String::from_utf8(output.stdout).unwrap()
}
