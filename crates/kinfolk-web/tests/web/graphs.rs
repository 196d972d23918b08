//! The graph and the timeline of a family, on both stores: all are counted, what failed is named, and each wait has its look.

use kinfolk_core::{Json, Made, NewTask, Outcome, TaskId};

use crate::lab::{Lab, command_name, failure, get, queue_name};

/// A family of three hundred: each hundredth child that ran has failed. The root, and what failed.
async fn large(lab: &Lab) -> (TaskId, Vec<i64>) {
    let children = vec![NewTask::new(command_name("send"), Json::object()); 300];
    let root = lab.made("greet", "default", Made { children, ..Made::default() }).await;
    let outcome = |nth: usize| if nth % 100 == 99 { failure("no") } else { Outcome::Done(None) };
    lab.end_all("send", "mail", outcome).await;
    let app = lab.open();
    let list = get(&app, "/api/v1/tasks?state=failed&command=send&order=oldest").await.json();
    let failed: Vec<i64> = list["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_i64().unwrap()).collect();
    assert_eq!(failed.len(), 3);
    (root, failed)
}

#[tokio::test]
async fn a_graph_counts_every_child_and_names_those_that_failed() {
    for lab in Lab::both().await {
        let app = lab.open();
        let (root, failed) = large(&lab).await;
        let graph = get(&app, &format!("/api/v1/families/{root}/graph")).await.json();
        let node = &graph["nodes"][1];
        assert_eq!((&node["tasks"], &graph["cut"]), (&300.into(), &false.into()), "{graph}");
        assert_eq!(node["failed"], serde_json::json!(failed), "{graph}");
        let states = serde_json::json!([{"state": "completed", "tasks": 297}, {"state": "failed", "tasks": 3}]);
        assert_eq!(node["states"], states, "{graph}");
        let named: Vec<String> = failed.iter().map(ToString::to_string).collect();
        let words = format!("297 completed, 3 failed: {}", named.join(", "));
        for format in ["dot", "mermaid"] {
            let drawn = get(&app, &format!("/api/v1/families/{root}/graph?format={format}")).await.text;
            assert!(drawn.contains("send ×300") && drawn.contains(&words), "{drawn}");
        }
        let page = get(&app, &format!("/families/{root}?view=graph")).await.text;
        assert!(page.contains("send × 300") && page.contains("297 completed, 3 failed"), "{page}");
        for id in failed {
            assert!(page.contains(&format!("<tspan>#{id}</tspan>")), "{page}");
        }
    }
}

#[tokio::test]
async fn where_there_is_no_room_for_each_task_children_are_drawn_together_and_none_is_left_out() {
    for lab in Lab::both().await {
        let app = lab.open();
        let six = Made { children: vec![lab.new_task("greet"); 6], ..Made::default() };
        let root = lab.enqueue("greet").await;
        for _ in 0..3 {
            lab.make_all("greet", "default", &six).await;
        }
        let graph = get(&app, &format!("/api/v1/families/{root}/graph")).await.json();
        let nodes = graph["nodes"].as_array().unwrap();
        let tasks: u64 = nodes.iter().map(|node| node["tasks"].as_u64().unwrap()).sum();
        assert_eq!(tasks, 1 + 6 + 36 + 216, "{graph}");
        assert!(nodes.len() > 150 && nodes.len() <= 200, "{}", nodes.len());
        assert_eq!((&graph["cut"], &graph["not_drawn"]), (&false.into(), &0.into()), "{graph}");
    }
}

#[tokio::test]
async fn a_graph_says_how_many_tasks_it_does_not_draw_and_where_they_are() {
    for lab in Lab::both().await {
        let app = lab.open();
        let made = |many| Made { children: vec![lab.new_task("greet"); many], ..Made::default() };
        let root = lab.made("greet", "default", made(10)).await;
        lab.make_all("greet", "default", &made(3)).await;
        let graph = get(&app, &format!("/api/v1/families/{root}/graph")).await.json();
        assert_eq!((graph["nodes"].as_array().unwrap().len(), &graph["not_drawn"]), (2, &30.into()), "{graph}");
        assert_eq!(graph["cut"], true, "{graph}");
        let said = format!("30 tasks are not drawn: kinfolk tree {root} --all");
        for format in ["dot", "mermaid"] {
            let drawn = get(&app, &format!("/api/v1/families/{root}/graph?format={format}")).await.text;
            assert!(drawn.contains(&said), "{drawn}");
        }
        let page = get(&app, &format!("/families/{root}?view=graph")).await.text;
        assert!(page.contains(&format!("30 of the 40 tasks below #{root} are not in this graph.")), "{page}");
        assert!(page.contains(&format!("href=\"/tasks?root={root}\"")), "{page}");
        // Below a task that is no root it is known that there is more, not how many.
        let child =
            get(&app, &format!("/api/v1/tasks/{root}/children?limit=1")).await.json()["children"][0]["id"].clone();
        let graph = get(&app, &format!("/api/v1/families/{child}/graph")).await.json();
        assert_eq!((graph["nodes"].as_array().unwrap().len(), &graph["cut"]), (4, &false.into()), "{graph}");
    }
}

#[tokio::test]
async fn a_timeline_draws_what_waits_on_a_paused_queue_neither_as_running_nor_as_in_line() {
    for lab in Lab::both().await {
        let app = lab.open();
        let child = |name: &str| NewTask::new(command_name(name), Json::object());
        let few = Made { children: vec![child("send"); 3], ..Made::default() };
        let few = lab.made("greet", "default", few).await;
        // So many that each command has one row.
        let children = [vec![child("send"); 210], vec![child("greet"); 5]].concat();
        let many = lab.made("greet", "default", Made { children, ..Made::default() }).await;
        lab.end_all("greet", "default", |_| Outcome::Done(None)).await;
        let drawn = |page: &str| page.split("<footer class=\"samples\"").next().unwrap_or_default().to_owned();
        let line = drawn(&get(&app, &format!("/families/{few}")).await.text);
        assert!(line.contains("class=\"line\"") && !line.contains("class=\"pause held\""), "{line}");
        lab.store.pause(&queue_name("mail"), Some("ann")).await.unwrap();
        for (family, unfolded) in [(few, String::new()), (many, format!("?open=s{many}"))] {
            let line = drawn(&get(&app, &format!("/families/{family}{unfolded}")).await.text);
            assert!(line.contains("class=\"pause held\""), "{family}: {line}");
            assert!(!line.contains("class=\"fill running\""), "{family}: {line}");
        }
    }
}
