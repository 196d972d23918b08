//! `docs/supervisors.md`, followed from the page alone: what it says is typed, and what it promises happens.

use std::process::{Command, Stdio};

use crate::support::{Db, Running, finish, postgres};

const PAGE: &str = include_str!("../../../../docs/supervisors.md");

/// The roles of the page, and the variables of their addresses.
const ROLES: [(&str, &str); 3] = [("ADMIN", "shop_admin"), ("WORKER", "shop_worker"), ("WEB", "shop_web")];

/// Someone at a terminal, in the folder of a database.
struct Newcomer {
    db: Db,
    /// Roles belong to the whole cluster, so those of this test have names of their own.
    suffix: String,
}

impl Newcomer {
    fn new() -> Self {
        Self { db: postgres(), suffix: uuid::Uuid::new_v4().simple().to_string() }
    }

    fn role(&self, role: &str) -> String {
        format!("{role}_{}", self.suffix)
    }

    /// The page with the names of this test's roles.
    fn page(&self) -> String {
        ROLES.iter().fold(PAGE.to_owned(), |page, (_, role)| page.replace(role, &self.role(role)))
    }

    /// A shell that finds `kinfolk` and `psql`, and knows the addresses.
    fn shell(&self, line: &str) -> Command {
        let kinfolk = std::path::Path::new(env!("CARGO_BIN_EXE_kinfolk")).parent().unwrap().display().to_string();
        let tools = std::env::var("KINFOLK_TEST_PG_BIN").unwrap_or_default();
        let path = format!("{kinfolk}:{tools}:{}", std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("/bin/sh");
        shell.current_dir(self.db.dir.path()).args(["-ec", line]).env("PATH", path).env("DATABASE", &self.db.url);
        for (variable, role) in ROLES {
            shell.env(variable, &self.db.as_role(&self.role(role)).url);
        }
        shell
    }

    /// Types a block into a shell. A worker goes on in the background.
    fn type_in(&self, block: &str) -> Option<Running> {
        if block.contains(" work ") {
            let line = block.replace("&& kinfolk", "&& exec kinfolk");
            let mut worker = self.shell(&line);
            let child = worker.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            return Some(Running::of(child));
        }
        // The addresses are those of this test.
        if !block.starts_with("export ") {
            let ran = finish(self.shell(block), "");
            assert_eq!(ran.code, 0, "{block}\n{}{}", ran.stdout, ran.stderr);
        }
        None
    }

    /// Types a block into the psql that its first line names.
    fn type_into_psql(&self, block: &str) {
        let (_, address) = block.split_once("-- psql \"$").unwrap_or_else(|| panic!("no address: {block}"));
        let (variable, _) = address.split_once('"').unwrap();
        let ran = finish(self.shell(&format!("exec psql \"${variable}\" -v ON_ERROR_STOP=1 -At")), block);
        assert_eq!(ran.code, 0, "{block}\n{}{}", ran.stdout, ran.stderr);
        if block.contains("-- two attempts") {
            assert!(ran.stdout.contains("|2|"), "{}", ran.stdout);
        }
    }

    /// Follows the page, block by block.
    fn follow(&self) -> Vec<Running> {
        let mut running = Vec::new();
        for part in self.page().split("\n```").skip(1).step_by(2) {
            let (kind, block) = part.split_once('\n').unwrap();
            match kind {
                "sh" => running.extend(self.type_in(block)),
                "toml" => std::fs::write(self.db.dir.path().join("kinfolk.toml"), block).unwrap(),
                "psql" => self.type_into_psql(block),
                _ => {}
            }
        }
        running
    }

    fn is_so(&self, holds: &str) -> bool {
        finish(self.shell(&format!("psql \"$ADMIN\" -Atc \"select {holds}\"")), "").stdout.trim() == "t"
    }

    fn checks(&self, role: &str, kinds: &[&str]) {
        let role = self.role(role);
        let kinds = kinds.iter().flat_map(|kind| ["--as", kind]);
        assert_eq!(
            self.db.ok(&["grants", &role, "--check"].into_iter().chain(kinds).collect::<Vec<_>>()),
            "",
            "{role}"
        );
    }
}

#[test]
fn a_newcomer_sends_an_email_and_adds_a_process_by_the_page_alone() {
    let newcomer = Newcomer::new();
    let running = newcomer.follow();
    assert_eq!(running.len(), 1, "the page starts one worker");
    let db = &newcomer.db;
    db.until("the email is out", |_| newcomer.is_so("comms.has_send_email_task_succeeded(1)"));
    db.until("the request is out", |_| newcomer.is_so("parcel.has_parcel_task_succeeded(1)"));
    assert_eq!(std::fs::read_dir(db.dir.path().join("outbox")).unwrap().count(), 2);
    let admin = db.as_role(&newcomer.role("shop_admin"));
    assert_eq!(admin.ok(&["errors"]), "no attempt has failed\n");
    let findings = admin.doctor();
    let parcel = findings.iter().find(|finding| finding["subject"] == "parcel.parcel").expect("a finding");
    assert_eq!(parcel["health"], "good", "{parcel}");
    running.into_iter().for_each(Running::stop);
    newcomer.checks("shop_worker", &["worker"]);
    newcomer.checks("shop_web", &["producer"]);
    let roles = ROLES.map(|(_, role)| newcomer.role(role)).join(", ");
    db.sql(&format!("drop owned by {roles} cascade; drop role {roles}"));
}

#[test]
fn a_role_that_may_not_install_is_told_every_missing_grant() {
    let newcomer = Newcomer::new();
    let role = newcomer.role("shop_admin");
    newcomer.db.ok(&["migrate"]);
    newcomer.db.sql(&format!("create role {role} login"));
    let script = newcomer.db.ok(&["module", "new", "unheard_of"]);
    let refused = finish(newcomer.shell("exec psql \"$ADMIN\" -v ON_ERROR_STOP=1"), &script);
    assert_eq!(refused.code, 3, "{refused:?}");
    for lacks in ["alter role", "grant create on database", "grant kinfolk_operator"] {
        assert!(refused.stderr.contains(lacks), "{lacks}: {}", refused.stderr);
    }
    newcomer.db.sql(&format!("drop role {role}"));
}
