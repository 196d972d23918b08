//! Databases in every bad shape: absent, unreachable, foreign, too old, too new, read-only, full, being migrated.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Db, Ran, finish, finish_child, kinfolk, postgres, refused, sqlite};

#[test]
fn looking_at_a_file_that_is_not_there_makes_none() {
    let db = sqlite();
    let reads: [&[&str]; 14] = [
        &["list"],
        &["show", "1"],
        &["stats"],
        &["workers"],
        &["commands"],
        &["queue", "list"],
        &["schedule", "list"],
        &["doctor"],
        &["check"],
        &["watch", "--until-idle"],
        &["cancel", "1"],
        &["retry", "1"],
        &["pause", "default"],
        &["migrate", "--dry-run"],
    ];
    for args in reads {
        if args[0] != "migrate" {
            let said = db.fails(args, 3);
            assert!(said.contains("kinfolk.db") && said.contains("kinfolk migrate"), "{said}");
        } else {
            db.ok(args);
        }
        assert_eq!(std::fs::read_dir(db.dir.path()).unwrap().count(), 0, "kinfolk {args:?} made something");
    }
    // Neither does bad input to a command that would make one.
    db.fails(&["enqueue", "noop", "nonsense"], 2);
    db.fails(&["register", "noop", "--jitter", "101"], 2);
    db.fails(&["schedule", "put", "s", "0 0 30 2 *", "noop"], 2);
    assert_eq!(std::fs::read_dir(db.dir.path()).unwrap().count(), 0);
}

#[test]
fn the_default_database_is_a_file_in_the_current_folder() {
    let db = sqlite();
    let run = |args: &[&str]| {
        let mut command = kinfolk();
        command.current_dir(db.dir.path()).args(args);
        finish(command, "")
    };
    assert_eq!(run(&["migrate"]).code, 0);
    assert!(db.file().exists());
    let mut command = kinfolk();
    command.env("KINFOLK_DATABASE", &db.url).args(["stats"]);
    assert_eq!(finish(command, "").code, 0);
}

#[test]
fn the_sql_of_a_migration_is_printed_and_not_run() {
    for db in [sqlite(), postgres()] {
        let sql = db.ok(&["migrate", "--dry-run"]);
        assert!(sql.contains("-- migration ") && sql.contains("create table"), "{sql}");
        assert!(db.json(&["migrate", "--dry-run"])[0]["sql"].is_string());
        assert!(db.ok(&["migrate"]).contains("created the schema"));
        assert!(db.ok(&["migrate"]).contains("up to date"));
        assert!(db.ok(&["migrate", "--dry-run"]).contains("up to date"));
        assert!(db.json(&["migrate", "--dry-run"]).is_empty());
    }
}

/// Runs a script by psql, as it is: with no options but where to.
fn psql(url: &str, script: &str) {
    let folder = std::env::var("KINFOLK_TEST_PG_BIN").map(|folder| folder + "/").unwrap_or_default();
    let mut command = Command::new(format!("{folder}psql"));
    command.args(["--quiet", "--no-psqlrc", url]);
    let ran = finish(command, script);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn the_sql_of_a_migration_does_it_when_it_is_piped_into_psql() {
    let db = postgres();
    psql(&db.url, &db.ok(&["migrate", "--dry-run"]));
    assert!(db.ok(&["migrate"]).contains("up to date"));
    db.ok(&["enqueue", "noop", "--register"]);
    db.ok(&["stats"]);
    db.ok(&["check"]);
}

#[test]
fn a_half_made_schema_is_not_called_good() {
    let db = postgres();
    let script = db.ok(&["migrate", "--dry-run"]);
    let begin = script.lines().next().unwrap();
    // Statement by statement, as if somebody had taken the transaction away.
    psql(&db.url, &script.replacen(begin, "", 1));
    for args in [&["migrate"][..], &["migrate", "--dry-run"]] {
        let said = db.fails(args, 4);
        assert!(said.contains("half-made") && said.contains("drop schema kinfolk cascade"), "{said}");
    }
    db.sql("drop schema kinfolk cascade");
    assert!(db.ok(&["migrate"]).contains("created the schema"));
    // What can be made anew is.
    db.sql("drop function kinfolk.stats cascade");
    db.fails(&["stats"], 4);
    db.ok(&["migrate"]);
    db.ok(&["stats"]);
}

#[test]
fn a_migration_that_others_keep_waiting_says_who_might_be_asked() {
    let db = postgres().migrated();
    db.sql("drop function kinfolk.stats cascade");
    let look = "begin; select count(*) from kinfolk.tasks";
    let said = db.while_holding(look, || db.fails(&["migrate"], 4));
    assert!(said.contains("pg_stat_activity") && !said.contains("a migration is being done"), "{said}");
}

#[test]
fn a_role_that_is_not_there_is_not_told_to_get_rights() {
    let db = postgres().migrated();
    let url = db.url.replace("postgres@", "kinfolk_nobody_at_all@");
    let mut command = kinfolk();
    command.args(["--database", &url, "stats"]);
    let said = refused(&finish(command, ""), 4);
    assert!(said.contains("kinfolk_nobody_at_all") && said.contains("user and password"), "{said}");
    assert!(!said.contains("grant"), "{said}");
}

#[test]
fn a_server_without_room_for_a_connection_says_how_to_make_some() {
    let db = postgres().migrated();
    let role = format!("{}_crowded", db.url.rsplit('/').next().unwrap());
    db.sql(&format!("create role \"{role}\" login connection limit 0; grant kinfolk_viewer to \"{role}\""));
    let ran = db.as_role(&role).run(&["stats"]);
    db.sql(&format!("drop role \"{role}\""));
    let said = refused(&ran, 4);
    assert!(said.contains("too many connections") && said.contains("pool sizes"), "{said}");
}

#[test]
fn a_server_without_tls_is_told_from_an_internal_fault() {
    let db = postgres().migrated();
    let mut command = kinfolk();
    command.args(["--database", &format!("{}?sslmode=require", db.url), "stats"]);
    let said = refused(&finish(command, ""), 4);
    assert!(said.contains("does not support TLS") && said.contains("sslmode=disable"), "{said}");
}

#[test]
fn a_server_without_schema_says_how_to_make_one() {
    let db = postgres();
    for args in [&["list"][..], &["enqueue", "noop"], &["work", "--until-idle"], &["doctor"]] {
        let said = db.fails(args, 4);
        assert!(said.contains("kinfolk migrate"), "{said}");
    }
}

#[test]
fn an_unreachable_server_is_named_without_its_password() {
    let url = "postgres://me:geheim@127.0.0.1:9/nowhere";
    let mut command = kinfolk();
    command.args(["--database", url, "list"]);
    let said = refused(&finish(command, ""), 4);
    assert!(said.contains("postgres://me@127.0.0.1:9/nowhere") && !said.contains("geheim"), "{said}");
}

#[test]
fn words_without_a_host_are_a_server_and_no_part_of_their_password_is_shown() {
    let db = sqlite();
    let mut command = kinfolk();
    let line = "dbname=nowhere user=me connect_timeout=5 password='sehr geheim' port=9";
    command.current_dir(db.dir.path()).args(["--database", line, "enqueue", "noop", "--register"]);
    let said = refused(&finish(command, ""), 4);
    assert!(said.contains("dbname=nowhere") && !said.contains("sehr") && !said.contains("geheim"), "{said}");
    assert_eq!(std::fs::read_dir(db.dir.path()).unwrap().count(), 0, "a file was made");
}

#[test]
fn another_kind_of_server_is_not_taken_for_a_path() {
    let mut command = kinfolk();
    command.args(["--database", "mysql://me@db/x", "enqueue", "noop"]);
    let said = refused(&finish(command, ""), 2);
    assert!(said.contains("mysql://") && said.contains("postgres://"), "{said}");
}

#[test]
fn an_address_without_a_path_is_refused() {
    for address in ["sqlite:", "sqlite://"] {
        for args in ["migrate", "stats"] {
            let mut command = kinfolk();
            command.args(["--database", address, args]);
            let said = refused(&finish(command, ""), 2);
            assert!(said.contains("names no file") && said.contains("sqlite:PATH"), "{said}");
        }
    }
}

#[test]
fn a_folder_that_is_not_there_is_said_to_be_missing() {
    let mut command = kinfolk();
    command.args(["--database", "/no/such/folder/kinfolk.db", "migrate"]);
    let ran = finish(command, "");
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("/no/such/folder"), "{ran:?}");
}

#[test]
fn a_schema_that_is_too_new_is_left_alone() {
    let db = sqlite().migrated();
    rusqlite::Connection::open(db.file()).unwrap().pragma_update(None, "user_version", 9_999).unwrap();
    for args in [&["list"][..], &["migrate"], &["enqueue", "noop"]] {
        let said = db.fails(args, 4);
        assert!(said.contains("9999") && said.contains("newer kinfolk"), "{said}");
    }
}

#[test]
fn a_server_whose_schema_is_too_new_or_names_no_version_is_left_alone() {
    let db = postgres().migrated();
    db.ok(&["enqueue", "noop", "--register"]);
    db.sql("insert into kinfolk.migration (version, name) values (9999, 'from the future')");
    for args in [&["list"][..], &["migrate"], &["migrate", "--dry-run"], &["enqueue", "noop"], &["work"]] {
        let said = db.fails(args, 4);
        assert!(said.contains("9999") && said.contains("newer kinfolk"), "{said}");
    }
    db.sql("create table public.kept as table kinfolk.migration; delete from kinfolk.migration");
    for args in [&["migrate"][..], &["migrate", "--dry-run"]] {
        let said = db.fails(args, 4);
        assert!(said.contains("half-made") && said.contains("names no version"), "{said}");
    }
    db.sql("insert into kinfolk.migration select * from public.kept k where k.version < 9999");
    assert_eq!(db.tasks(), 1);
}

/// `kinfolk args` as a user whom the modes of files bind: root becomes someone else, with a copy of the program within reach.
fn bound_by_modes(db: &Db, args: &[&str]) -> Ran {
    use std::os::unix::process::CommandExt as _;
    const NOBODY: u32 = 65_534;

    let mut command = kinfolk();
    if rustix::process::geteuid().is_root() {
        let copy = db.dir.path().join("kinfolk");
        if !copy.exists() {
            std::fs::copy(env!("CARGO_BIN_EXE_kinfolk"), &copy).unwrap();
        }
        command = Command::new(&copy);
        command.uid(NOBODY);
    }
    command.current_dir(db.dir.path()).args(args);
    finish(command, "")
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_read_only_file_takes_no_task() {
    let db = sqlite().migrated();
    db.ok(&["register", "noop"]);
    let before = std::fs::read(db.file()).unwrap();
    set_mode(&db.file(), 0o444);
    set_mode(db.dir.path(), 0o755);
    let said = refused(&bound_by_modes(&db, &["--database", &db.url, "enqueue", "noop"]), 4);
    assert!(said.contains("read-only") && said.contains("the file and its folder writable"), "{said}");
    assert_eq!(std::fs::read(db.file()).unwrap(), before);
}

#[test]
fn a_file_that_this_user_may_not_open_or_make_is_no_matter_of_roles() {
    let db = sqlite().migrated();
    set_mode(&db.file(), 0o000);
    // The first call may put a copy of the program there.
    bound_by_modes(&db, &["--version"]);
    set_mode(db.dir.path(), 0o555);
    for args in [["--database", &db.url, "stats"], ["--database", "new.db", "migrate"]] {
        let said = refused(&bound_by_modes(&db, &args), 4);
        assert!(said.contains("its folder") && said.contains("this user may"), "{args:?}: {said}");
        assert!(!said.contains("kinfolk_viewer") && !said.contains("that it runs"), "{args:?}: {said}");
    }
    assert!(!db.dir.path().join("new.db").exists());
    set_mode(db.dir.path(), 0o755);
}

#[test]
fn a_file_of_another_program_is_left_alone() {
    let db = sqlite();
    rusqlite::Connection::open(db.file()).unwrap().execute_batch("create table theirs (a)").unwrap();
    let before = std::fs::read(db.file()).unwrap();
    assert!(matches!(db.run(&["migrate"]).code, 4));
    assert!(matches!(db.run(&["enqueue", "noop"]).code, 4));
    assert_eq!(std::fs::read(db.file()).unwrap(), before);
    std::fs::write(db.file(), "this is no database, only some text that is long enough to look like one").unwrap();
    assert_eq!(db.run(&["list"]).code, 4);
}

#[test]
fn what_is_no_plain_file_is_refused_at_once_and_nothing_is_left_beside_it() {
    let db = sqlite();
    let pipe = db.dir.path().join("pipe.db");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(db.dir.path().join("socket.db")).unwrap();
    std::fs::create_dir(db.dir.path().join("folder.db")).unwrap();
    let before = std::fs::read_dir(db.dir.path()).unwrap().count();
    for path in ["pipe.db", "socket.db", "folder.db", "/dev/null"] {
        for args in [&["migrate"][..], &["migrate", "--dry-run"], &["list"], &["enqueue", "noop", "--register"]] {
            let mut command = kinfolk();
            command.current_dir(db.dir.path()).args(["--database", path]).args(args);
            let said = refused(&finish(command, ""), 4);
            assert!(said.contains(path) && said.contains("not a Kinfolk database"), "{args:?}: {said}");
        }
    }
    assert_eq!(std::fs::read_dir(db.dir.path()).unwrap().count(), before);
    assert!(!std::path::Path::new("/dev/null-journal").exists());
}

#[test]
fn a_damaged_file_is_told_from_a_bug() {
    use std::os::unix::fs::FileExt as _;

    let db = sqlite().migrated();
    db.ok(&["enqueue", "noop", "--register", "--count", "2000"]);
    rusqlite::Connection::open(db.file()).unwrap().pragma_update(None, "journal_mode", "delete").unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(db.file()).unwrap();
    let size = file.metadata().unwrap().len();
    // All but the first page, which says what the file is.
    file.write_all_at(&vec![0xaa; usize::try_from(size).unwrap() - 4096], 4096).unwrap();
    for args in [&["list"][..], &["stats"], &["enqueue", "noop"], &["migrate"], &["check"]] {
        let said = db.fails(args, 4);
        assert!(said.contains("damaged") && said.contains("backup") && !said.contains("report"), "{args:?}: {said}");
    }
    let ran = db.run(&["list", "--json"]);
    assert_eq!(crate::support::documents(&ran.stderr)[0]["error"]["code"], "damaged", "{ran:?}");
}

#[test]
fn a_schema_of_that_name_that_is_someone_elses_is_said_to_be_so() {
    let made = ["create schema kinfolk; create table kinfolk.theirs (a int)", "create schema kinfolk"];
    for sql in made {
        let db = postgres();
        db.sql(sql);
        // Not "run `kinfolk migrate`", which would not do.
        for args in
            [&["list"][..], &["enqueue", "noop"], &["work", "--until-idle"], &["migrate"], &["migrate", "--dry-run"]]
        {
            let said = db.fails(args, 4);
            assert!(said.contains("schema kinfolk") && said.contains("postgres"), "{args:?}: {said}");
            assert!(said.contains("another database") && !said.contains("kinfolk migrate"), "{args:?}: {said}");
            assert!(!said.contains("cascade"), "nobody is told to drop what is not ours: {said}");
        }
    }
}

#[test]
fn what_looks_like_an_address_and_is_none_is_refused_without_a_part_of_its_password() {
    let db = sqlite();
    for address in [
        "postgres:bob:geheim@host",
        "postgres:bob:geheim@host/db",
        "postgres:/bob:geheim@host/db",
        "postgres//bob:geheim@host/db",
        "postgresql:bob:geheim@host",
        "POSTGRES://bob:geheim@host/db",
        "postgers://bob:geheim@host/db",
        "//bob:geheim@host/db",
        "bob:geheim@host/db",
        "bob:geheim@host",
        "bob@host",
        "pasword=geheim",
        "pasword=geheim dbname=x",
        "host=db pasword=geheim",
        "host=db passwd=geheim dbname=x",
        "dbname=x pasword='sehr geheim'",
        "password=sehr geheim host=db",
        "password=sehr geheim=1 host=db",
        "postgres://bob:geheim",
        "postgres://bob:geheim/db",
        "postgres://bob@host:geheim/db",
        "postgres://bob@host/db?pasword=geheim",
        "postgres://host/db?user=bob&passwd=geheim",
        "postgres://bob:gehe@im@host/db?x=geheim",
    ] {
        for args in
            [&["enqueue", "noop", "--register"][..], &["list"], &["list", "--json"], &["-vvv", "migrate"], &["demo"]]
        {
            let mut command = kinfolk();
            command.current_dir(db.dir.path()).args(["--database", address]).args(args);
            let ran = finish(command, "");
            assert_eq!(ran.code, 2, "{address} {args:?}: {ran:?}");
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!said.contains("geheim") && !said.contains("sehr") && !said.contains("gehe"), "{address}: {said}");
            assert!(said.contains("postgres://"), "{address}: {said}");
        }
        // Typed in the wrong place.
        let mut command = kinfolk();
        command.current_dir(db.dir.path()).args([address, "list"]);
        let ran = finish(command, "");
        assert!(ran.code == 2 && !ran.stderr.contains("gehe"), "{address}: {ran:?}");
    }
    assert_eq!(std::fs::read_dir(db.dir.path()).unwrap().count(), 0, "a file was made");
    // A file may be called so, if that is what is meant.
    for path in ["sqlite:bob:geheim@host", "./a=b@c.db", "sqlite:pasword=x"] {
        let mut command = kinfolk();
        command.current_dir(db.dir.path()).args(["--database", path, "migrate"]);
        assert_eq!(finish(command, "").code, 0, "{path}");
    }
}

#[test]
fn a_read_only_server_takes_no_task() {
    let db = postgres().migrated();
    db.ok(&["register", "noop"]);
    let name = db.url.rsplit('/').next().unwrap();
    db.sql(&format!("alter database {name} set default_transaction_read_only = on"));
    let said = db.fails(&["enqueue", "noop"], 4);
    assert!(said.contains("read-only"), "{said}");
    assert_eq!(db.tasks(), 0);
}

#[test]
fn a_role_suffices_for_what_it_is_there_for() {
    let db = postgres().migrated();
    db.ok(&["register", "known", "--group", "tenant=1"]);
    db.ok(&["schedule", "put", "often", "0 * * * *", "known"]);
    db.ok(&["enqueue", "known"]);
    let run = |role: &str, args: &[&str]| {
        let mut command = kinfolk();
        command.args(["--database", &format!("{}?options=-c%20role%3D{role}", db.url)]).args(args);
        finish(command, "")
    };
    for (role, args) in [
        ("kinfolk_producer", &["register", "mine", "--queue", "new"][..]),
        ("kinfolk_producer", &["enqueue", "other", "--register"]),
        ("kinfolk_operator", &["register", "known", "--group", "tenant=2"]),
        ("kinfolk_operator", &["queue", "set", "default", "--keep-failed", "1d"]),
        ("kinfolk_operator", &["groups", "set", "tenant", "--limit", "3"]),
        ("kinfolk_operator", &["schedule", "put", "often", "30 * * * *", "known"]),
        ("kinfolk_operator", &["schedule", "pause", "often"]),
        ("kinfolk_operator", &["schedule", "resume", "often"]),
        ("kinfolk_operator", &["schedule", "remove", "often"]),
        ("kinfolk_operator", &["pause", "default"]),
        ("kinfolk_operator", &["resume", "default"]),
        ("kinfolk_operator", &["cancel", "1"]),
        ("kinfolk_operator", &["retry", "1"]),
        ("kinfolk_viewer", &["stats"]),
    ] {
        let ran = run(role, args);
        assert_eq!(ran.code, 0, "{role}: {args:?}: {ran:?}");
    }
    let said = refused(&run("kinfolk_viewer", &["cancel", "1"]), 4);
    assert!(said.contains("kinfolk_operator to cancel"), "{said}");
}

#[test]
fn a_full_file_takes_no_task_and_stays_sound() {
    let db = sqlite().migrated();
    db.ok(&["enqueue", "noop", "--register"]);
    // A limit on the size of files is as good as a full disk, and needs no disk.
    let size = std::fs::metadata(db.file()).unwrap().len();
    let limit = (size / 1024 + 64).to_string();
    let payloads = format!("\"{}\"\n", "x".repeat(200_000)).repeat(20);
    let script = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &script, "bash", env!("CARGO_BIN_EXE_kinfolk")]);
    command.args(["--database", &db.url, "enqueue", "noop", "--file", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = finish_child(command.spawn().unwrap(), &payloads);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert_eq!(db.tasks(), 1);
    assert_eq!(db.ok(&["check"]).trim(), "every invariant holds");
}

#[test]
fn an_enqueue_that_is_cut_short_says_how_much_of_it_is_there() {
    let db = sqlite().migrated();
    db.ok(&["register", "noop"]);
    let script = "trap '' XFSZ; ulimit -f 8192; exec \"$@\"";
    let mut command = Command::new("bash");
    command.args(["-c", script, "bash", env!("CARGO_BIN_EXE_kinfolk"), "--database", &db.url]);
    command.args(["enqueue", "noop", "--count", "100000"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = finish_child(command.spawn().unwrap(), "");
    assert_eq!(ran.code, 4, "{ran:?}");
    // Numbers rise by one in a file, and nothing behind the last one is there.
    let there = db.one(&["list", "--limit", "1"])["id"].as_u64().unwrap();
    assert!(ran.stdout.contains(&format!("created {there} tasks, 1 to {there}")), "{ran:?}");
    assert!(ran.stderr.contains(&format!("only the first {there} of 100000 were enqueued")), "{ran:?}");
}

#[test]
fn two_migrations_at_once_make_one_schema() {
    for db in [sqlite(), postgres()] {
        let start = || {
            let mut command = db.command(&["migrate", "--json"]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let children: Vec<_> = (0..4).map(|_| start()).collect();
        let ran: Vec<_> = children.into_iter().map(|child| finish_child(child, "")).collect();
        assert!(ran.iter().any(|ran| ran.code == 0), "{ran:?}");
        assert!(ran.iter().all(|ran| ran.code == 0 || (ran.code == 4 && ran.stderr.contains("busy"))), "{ran:?}");
        assert!(db.ok(&["migrate"]).contains("up to date"));
        assert_eq!(db.ok(&["check"]).trim(), "every invariant holds");
    }
}

#[test]
fn a_second_migration_while_one_is_under_way_is_told_so() {
    let db = postgres();
    let said = db.while_holding("select pg_advisory_lock(1263160902, 0)", || db.fails(&["migrate"], 4));
    assert!(said.contains("someone else"), "{said}");
    db.ok(&["migrate"]);
}
