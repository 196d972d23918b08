//! Short verbs about groups, keys and slots, so that a contract is a few lines.
//!
//! Groups are those of the command `mail`, on the queue `default`, unless told otherwise.

use kinfolk_core::{
    Claimed, Command, GroupRef, GroupSpec, Groups, KeyFilter, KeyView, Keys, NewTask, Reason, Setting, TaskId,
};

use crate::world::{World, claim_of, command, group_name, new_task, plain_command, queue_name};

impl World {
    /// Makes the groups of the command `mail` exactly these.
    pub async fn groups<S: Into<GroupSpec>>(&self, groups: impl IntoIterator<Item = (&str, S)>) {
        self.declare("mail", groups).await;
    }

    /// Makes the groups of a command exactly these; the command `export` stays on the queue `bulk`.
    pub async fn declare<S: Into<GroupSpec>>(&self, name: &str, groups: impl IntoIterator<Item = (&str, S)>) {
        self.store.register(&[with_groups(name, Groups::of(groups).unwrap())]).await.unwrap();
    }

    /// Enqueues a `mail` under these keys.
    pub async fn under(&self, keys: &[(&str, &str)]) -> TaskId {
        self.create(task_of("mail", keys)).await
    }

    /// Enqueues this many tasks under these keys in one call.
    pub async fn many_under(&self, command: &str, keys: &[(&str, &str)], many: usize) -> Vec<TaskId> {
        let answers = self.store.enqueue(&vec![task_of(command, keys); many]).await.unwrap();
        answers.iter().map(|answer| answer.id().unwrap()).collect()
    }

    /// What a new worker is given now, with when it should look again.
    pub async fn look(&self, limit: usize) -> Claimed {
        let worker = self.worker().await;
        self.store.claim(&claim_of(worker, limit)).await.unwrap()
    }

    /// Whether a new worker is given nothing now.
    pub async fn claim_nothing(&self) -> bool {
        let worker = self.worker().await;
        let taken = self.claim(worker, 100).await;
        self.store.leave(worker).await.unwrap();
        taken.is_empty()
    }

    /// Sets what a group of `mail` allows for all its keys.
    pub async fn set(&self, name: &str, setting: Setting) {
        self.store.set_group(&of_mail(name), None, &setting).await.unwrap();
    }

    /// Sets what one key of a group of `mail` allows.
    pub async fn set_key(&self, name: &str, key: &str, setting: Setting) {
        self.store.set_group(&of_mail(name), Some(key), &setting).await.unwrap();
    }

    /// All keys in use.
    pub async fn keys(&self) -> Vec<KeyView> {
        self.store.keys(&KeyFilter { limit: 1_000, ..KeyFilter::default() }).await.unwrap()
    }

    /// The holders of slots of a key in a group of `mail`.
    pub async fn holders(&self, name: &str, key: &str) -> Vec<TaskId> {
        self.holders_in(&of_mail(name), key).await
    }

    /// The holders of slots of a key.
    pub async fn holders_in(&self, group: &GroupRef, key: &str) -> Vec<TaskId> {
        let mut keys = self.keys().await.into_iter();
        keys.find(|view| view.group == *group && view.key == key).map(|view| view.holders).unwrap_or_default()
    }

    /// Why a task is not running.
    pub async fn why(&self, id: TaskId) -> Vec<Reason> {
        self.store.explain(id).await.unwrap().reasons
    }

    /// The words for why a task is not running.
    pub async fn words(&self, id: TaskId) -> Vec<&'static str> {
        self.why(id).await.iter().map(Reason::word).collect()
    }
}

/// A command with these groups, as every world knows it.
pub fn with_groups(name: &str, groups: Groups) -> Command {
    let queue = queue_name(if name == "export" { "bulk" } else { "default" });
    Command { queue, groups: Some(groups), ..plain_command(name) }
}

/// A task under these keys.
pub fn task_of(command: &str, keys: &[(&str, &str)]) -> NewTask {
    NewTask { keys: keys_of(keys), ..new_task(command) }
}

/// A task that takes its maker's keys.
pub fn heir(command: &str, keys: &[(&str, &str)]) -> NewTask {
    NewTask { inherit_keys: true, ..task_of(command, keys) }
}

/// Keys.
pub fn keys_of(keys: &[(&str, &str)]) -> Keys {
    Keys::of(keys.iter().copied()).unwrap()
}

/// A group of `mail`.
pub fn of_mail(name: &str) -> GroupRef {
    GroupRef::of(command("mail"), group_name(name))
}

/// A shared group.
pub fn shared(name: &str) -> GroupRef {
    GroupRef::shared(group_name(name))
}

/// A setting of so many slots.
pub fn slots(limit: u32) -> Setting {
    Setting { limit: Some(limit), rate: None }
}
