//! What pages and API tell of tasks beside their states: labels, makers, versions, counts by command.

use kinfolk_core::{Command, FollowUp, Json, Keys, Made, NewTask, Outcome, When, WorkerId, WorkerSpec};
use kinfolk_web::Config;

use crate::lab::{Lab, command_name, failure, get, queue_name, worker_of};

#[tokio::test]
async fn a_label_is_shown_wherever_its_task_is_unless_it_is_redacted() {
    for lab in Lab::both().await {
        let label = Some("card.number".parse().unwrap());
        lab.store.register(&[Command { label, ..Command::new(command_name("greet")) }]).await.unwrap();
        let id = lab.enqueue("greet").await;
        let shown = r#"<bdi class="label">4111</bdi>"#;
        let pages = ["/tasks", "/", "/families"].map(str::to_owned).into_iter();
        let pages: Vec<String> = pages.chain([format!("/tasks/{id}"), format!("/families/{id}")]).collect();
        let app = lab.open();
        for page in pages.iter().filter(|page| *page != "/") {
            let text = get(&app, page).await.text;
            assert!(text.contains(shown), "{page}: {text}");
        }
        let task = get(&app, &format!("/api/v1/tasks/{id}")).await.json();
        assert_eq!(task["task"]["label"], "4111", "{task}");
        assert_eq!(get(&app, "/api/v1/commands").await.json()[0]["label"], "card.number");
        let hidden = lab.router(Config::for_this_machine().redact(["card.number".to_owned()]));
        for page in &pages {
            let text = get(&hidden, page).await.text;
            assert!(!text.contains("class=\"label\"") && !text.contains("4111"), "{page}: {text}");
        }
        let task = get(&hidden, &format!("/api/v1/tasks/{id}")).await.json();
        assert_eq!(task["task"]["label"], serde_json::Value::Null, "{task}");
    }
}

#[tokio::test]
async fn a_follow_up_stands_with_the_family_that_made_it_and_links_back() {
    for lab in Lab::both().await {
        let app = lab.open();
        let task = NewTask::new(command_name("send"), Json::object());
        let made = Made { follow_ups: vec![FollowUp { task, when: When::Settled }], ..Made::default() };
        let maker = lab.made("greet", "default", made).await;
        let list = get(&app, &format!("/api/v1/tasks?follows={maker}")).await.json();
        let after = list["tasks"][0]["id"].as_i64().unwrap();
        assert_eq!((&list["tasks"][0]["made_by"], list["tasks"].as_array().unwrap().len()), (&maker.0.into(), 1));
        for view in ["timeline", "tree"] {
            let page = get(&app, &format!("/families/{maker}?view={view}")).await.text;
            assert!(
                page.contains(&format!("/families/{after}")) && page.contains("follow-up</span>"),
                "{view}: {page}"
            );
        }
        let graph = get(&app, &format!("/families/{maker}?view=graph")).await.text;
        assert!(graph.contains(&format!("#{after}, follow-up")), "{graph}");
        let page = get(&app, &format!("/tasks/{after}")).await.text;
        assert!(page.contains(&format!("After family #{maker}")) && page.contains("as a follow-up"), "{page}");
        let tree = get(&app, &format!("/api/v1/families/{maker}/tree")).await.json();
        assert_eq!(tree["follow_ups"][0]["id"], after, "{tree}");
        let graph = get(&app, &format!("/api/v1/families/{maker}/graph")).await.json();
        assert_eq!(graph["after"][0]["follow_up"], 1, "{graph}");
        let dot = get(&app, &format!("/api/v1/families/{maker}/graph?format=dot")).await.text;
        assert!(dot.contains("n0 -> n1 [style=dashed"), "{dot}");
    }
}

#[tokio::test]
async fn the_counts_of_a_family_are_of_all_its_tasks_also_of_the_root() {
    for lab in Lab::both().await {
        let app = lab.open();
        let made = Made { children: vec![NewTask::new(command_name("send"), Json::object()); 3], ..Made::default() };
        let root = lab.made("greet", "default", made).await;
        let page = get(&app, "/").await.text;
        assert!(page.contains("0 of 4"), "{page}");
        lab.end_all("send", "mail", |nth| if nth == 0 { failure("no") } else { Outcome::Done(None) }).await;
        let page = get(&app, &format!("/families/{root}")).await.text;
        for words in ["<b>2</b> completed", "<b>2</b> failed", "4 tasks"] {
            assert!(page.contains(words), "{words}: {page}");
        }
        assert!(get(&app, "/families").await.text.contains("2 completed, 2 failed of 4"));
    }
}

#[tokio::test]
async fn a_worker_of_an_older_version_is_told_from_those_that_do_the_same() {
    for lab in Lab::both().await {
        let app = lab.open();
        for (name, version, command) in
            [("mail-1", "shop 1.8.1", "send"), ("mail-2", "shop 1.8.2", "send"), ("till", "till 7", "greet")]
        {
            let id = WorkerId(uuid::Uuid::now_v7());
            let (name, version) = (name.to_owned(), version.to_owned());
            let worker = WorkerSpec { id, name, version, ..worker_of(command, "mail") };
            lab.store.register_worker(&worker).await.unwrap();
        }
        let page = get(&app, "/workers").await.text;
        assert!(page.contains("<bdi>shop 1.8.1</bdi> <span class=\"tag\">older</span>"), "{page}");
        assert_eq!(page.matches(">older<").count(), 1, "{page}");
        assert!(page.contains("shop 1.8.2</bdi>: 1 worker, the first started"), "{page}");
        let workers = get(&app, "/api/v1/workers").await.json();
        assert_eq!(workers[0]["version"], "shop 1.8.1", "{workers}");
    }
}

#[tokio::test]
async fn what_matches_is_counted_by_command_and_found_by_several_keys() {
    for lab in Lab::both().await {
        let app = lab.open();
        let groups = Some(kinfolk_core::Groups::of([("tenant", 2), ("message", 1)]).unwrap());
        let send = Command { groups, queue: queue_name("mail"), ..Command::new(command_name("send")) };
        lab.store.register(&[send]).await.unwrap();
        let with_keys = |message: &str| NewTask {
            keys: Keys::of([("tenant", "acme"), ("message", message)]).unwrap(),
            ..NewTask::new(command_name("send"), Json::object())
        };
        lab.store.enqueue(&[with_keys("a,b"), with_keys("c")]).await.unwrap();
        lab.enqueue("greet").await;
        let count = get(&app, "/api/v1/tasks/count?key=tenant%3Dacme&key=message%3Da%2Cb").await.json();
        assert_eq!(count["tasks"], 1, "{count}");
        let twice = get(&app, "/api/v1/tasks/count?key=tenant%3Dacme&key=tenant%3Db").await;
        assert_eq!((twice.status, twice.code()), (400, "input".to_owned()));
        let page = get(&app, "/tasks?key=tenant%3Dacme&key=message%3Dc").await.text;
        assert!(page.contains("1 matches") && page.contains("/tasks?key=message%3Dc\""), "{page}");
        let counts = get(&app, "/api/v1/tasks/count-by-command").await.json();
        let expected = r#"{"counts":[{"command":"greet","tasks":1},{"command":"send","tasks":2}],"more":false}"#;
        assert_eq!(counts, serde_json::from_str::<serde_json::Value>(expected).unwrap());
        let page = get(&app, "/tasks?count=command&state=pending").await.text;
        assert!(page.contains("Tasks that match, by command") && page.contains("command=send"), "{page}");
        assert!(page.contains("<td class=\"num\">2</td>") && page.contains("List them"), "{page}");
    }
}
