//! Families as text, to look at and to compare.

use std::fmt::Write;

use futures_util::future::BoxFuture;
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::{State, StoreError, Task, TaskId};

use super::TestKit;

impl TestKit {
    /// A task and all below it, one a line: command and state, indented by two for each generation, in the order in which
    /// they were made. A suspended one is `waiting`, with what it waits for behind its steps.
    pub async fn tree(&self, id: TaskId) -> Result<String, StoreError> {
        let mut text = String::new();
        let task = self.kinfolk().task(id).await?;
        self.write_tree(&task, 0, &mut text).await?;
        Ok(text)
    }

    fn write_tree<'a>(
        &'a self,
        task: &'a Task,
        depth: usize,
        text: &'a mut String,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let _ = writeln!(text, "{:indent$}{} {}", "", task.command, task.state, indent = 2 * depth);
            let mut from = 0;
            loop {
                let children = self.kinfolk().children(task.id, from, PAGE_MAX).await?;
                from += children.len() as u64;
                for child in &children {
                    self.write_tree(child, depth + 1, text).await?;
                }
                if children.len() < PAGE_MAX {
                    return Ok(());
                }
            }
        })
    }

    /// Panics unless the family of this task looks like this (see [`TestKit::tree`]). Empty lines and what all lines are
    /// indented by do not count.
    #[track_caller]
    pub fn assert_tree<'a>(&'a self, id: TaskId, expected: &'a str) -> impl Future<Output = ()> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            let tree = self.tree(id).await.unwrap_or_else(|fault| format!("no tree: {fault}"));
            let expected = outdented(expected);
            if tree != expected {
                let left = self.some_left().await;
                panic!("{caller}: the family of task {id} is\n{tree}and should be\n{expected}left:{left}");
            }
        }
    }

    /// Panics unless every task of this family is in this state.
    pub async fn assert_all(&self, id: TaskId, state: State) {
        let tree = self.tree(id).await.unwrap_or_else(|fault| format!("no tree: {fault}"));
        let word = format!(" {state}");
        if !tree.lines().all(|line| line.ends_with(&word)) {
            panic!("not all of them are {state}:\n{tree}left:{}", self.some_left().await);
        }
    }
}

fn outdented(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let common = lines.iter().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    lines.iter().fold(String::new(), |mut tree, line| {
        let _ = writeln!(tree, "{}", line[common..].trim_end());
        tree
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_trees_may_be_indented_as_the_test_is() {
        assert_eq!(outdented("\n      order waiting\n        item pending\n    "), "order waiting\n  item pending\n");
    }
}
