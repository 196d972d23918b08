//! A store in front of another one: it hands every call on, and has a say in each.
//!
//! The verbs are listed here once, for every wrapper of a store: a test that loses answers, a line that can be cut. It decides
//! nothing; what becomes of a call is up to the wrapper.

#[doc(hidden)]
pub use async_trait::async_trait;

/// Makes a type a whole store that hands its calls on.
///
/// The type has a method `behind(&self) -> &dyn Store`, the store it hands on to, and one that every call goes through:
/// `async fn pass<T: Send>(&self, verb: &'static str, call: impl Future<Output = Answer<T>> + Send) -> Answer<T>`. The verbs
/// `claim`, `settle` and `sweep` are written by hand, between the braces: their wrappers want to see what is asked or answered.
#[macro_export]
macro_rules! forward {
    ($type:ty { $($by_hand:tt)* }) => {
        impl $crate::Store for $type {
            fn kind(&self) -> &'static str {
                self.behind().kind()
            }
        }

        $crate::forward!(@role $type, Produce {
            register(commands: &[$crate::Command]) -> ();
            enqueue(tasks: &[$crate::NewTask]) -> Vec<$crate::Enqueued>;
            enqueue_all(tasks: &[$crate::NewTask]) -> Vec<$crate::Enqueued>;
        });

        $crate::forward!(@role $type, Work {
            register_worker(worker: &$crate::WorkerSpec) -> ();
            heartbeat(worker: $crate::WorkerId) -> $crate::Heartbeat;
            leave(worker: $crate::WorkerId) -> ();
            record(records: &[$crate::Record]) -> Vec<$crate::Recorded>;
            suspend(suspends: &[$crate::Suspend]) -> Vec<$crate::Settled>;
            expire(task: $crate::TaskId, token: $crate::Token, fan_out: $crate::FanOutId) -> Option<$crate::FanOut>;
            take_signal(
                task: $crate::TaskId,
                token: $crate::Token,
                key: &$crate::Key,
                name: &$crate::SignalName
            ) -> $crate::TakenSignal;
            slow_down(
                task: $crate::TaskId,
                token: $crate::Token,
                group: &$crate::GroupName,
                until: $crate::Timestamp
            ) -> bool;
            report(task: $crate::TaskId, token: $crate::Token, report: &$crate::Report) -> bool;
            record_minutes(worker: $crate::WorkerId, number: u64, records: &[$crate::minute::MinuteRecord]) -> ();
            recover(worker: $crate::WorkerId) -> $crate::Recovered;
            due_schedules() -> Vec<$crate::Schedule>;
            fire(plan: &$crate::schedule::Plan) -> $crate::schedule::Fired;
            refresh_statuses() -> Vec<$crate::Status>;
            prune() -> u64;
            wakes(worker: $crate::WorkerId, queues: &[$crate::QueueName]) -> Option<Box<dyn $crate::WakeSource>>;
        } $($by_hand)*);

        $crate::forward!(@role $type, Inspect {
            now() -> $crate::Timestamp;
            task(id: $crate::TaskId) -> Option<$crate::Task>;
            attempts(id: $crate::TaskId) -> Vec<$crate::Attempt>;
            runs(tasks: &[$crate::TaskId]) -> Vec<$crate::Run>;
            list(filter: &$crate::filter::Filter) -> $crate::filter::Page;
            count(filter: &$crate::filter::Filter) -> $crate::filter::Matches;
            count_by_command(filter: &$crate::filter::Filter) -> $crate::filter::ByCommand;
            failures(span: std::time::Duration) -> $crate::cause::Causes;
            minutes(span: std::time::Duration) -> Vec<$crate::minute::Minute>;
            children(parent: $crate::TaskId, from: u64, limit: usize) -> Vec<$crate::Task>;
            tally(parent: $crate::TaskId) -> $crate::Tally;
            progress(task: $crate::TaskId) -> $crate::Progress;
            is_active(commands: &[$crate::CommandName]) -> bool;
            statuses() -> Vec<$crate::Status>;
            history(id: $crate::TaskId) -> $crate::History;
            results(
                fan_out: $crate::FanOutId,
                by: $crate::ReadBy,
                from: u32,
                limit: usize
            ) -> Vec<$crate::ChildResult>;
            ended_at(fan_out: $crate::FanOutId, indexes: &[u32]) -> Vec<$crate::Timestamp>;
            explain(id: $crate::TaskId) -> $crate::Explanation;
            held(queue: Option<&$crate::QueueName>) -> Vec<$crate::held::Held>;
            groups() -> Vec<$crate::GroupView>;
            keys(filter: &$crate::KeyFilter) -> Vec<$crate::KeyView>;
            stats() -> $crate::inspect::Stats;
            queues() -> Vec<$crate::Queue>;
            commands() -> Vec<$crate::Command>;
            workers() -> Vec<$crate::worker::WorkerView>;
            schedules() -> Vec<$crate::Schedule>;
            check() -> Vec<$crate::inspect::Violation>;
            audit_log(before: Option<i64>, limit: usize) -> Vec<$crate::audit::Audited>;
            errors(filter: &$crate::error_log::ErrorFilter) -> Vec<$crate::error_log::LoggedError>;
            change_number() -> u64;
            doctor() -> Vec<$crate::inspect::Finding>;
        });

        $crate::forward!(@role $type, Operate {
            cancel(id: $crate::TaskId) -> $crate::operate::Cancelled;
            retry(id: $crate::TaskId) -> $crate::Task;
            acquit(id: $crate::TaskId) -> $crate::Task;
            retry_family(id: $crate::TaskId) -> $crate::Retried;
            run_now(id: $crate::TaskId) -> $crate::Task;
            bulk(
                action: $crate::operate::Action,
                filter: &$crate::filter::Filter
            ) -> $crate::operate::BulkPage;
            signal(id: $crate::TaskId, name: &$crate::SignalName, value: &$crate::Json) -> $crate::Signalled;
            set_queue(queue: &$crate::QueueName, policy: &$crate::Policy) -> ();
            set_group(group: &$crate::GroupRef, key: Option<&str>, setting: &$crate::Setting) -> ();
            remove_group(group: &$crate::GroupRef) -> ();
            put_status(name: &$crate::StatusName, commands: &[$crate::CommandName]) -> ();
            remove_status(name: &$crate::StatusName) -> ();
            pause(queue: &$crate::QueueName, by: Option<&str>) -> ();
            resume(queue: &$crate::QueueName) -> ();
            put_schedule(schedule: &$crate::Schedule) -> $crate::Schedule;
            declare_schedules(names: &[$crate::ScheduleName]) -> ();
            pause_schedule(name: &$crate::ScheduleName, paused: bool) -> ();
            remove_schedule(name: &$crate::ScheduleName) -> ();
            audit(entry: &$crate::audit::Audit) -> ();
            migrate() -> $crate::operate::Migrated;
            pending_migrations() -> Vec<$crate::operate::Migration>;
        });
    };
    (@role $type:ty, $role:ident {
        $($verb:ident($($name:ident: $of:ty),*) -> $answer:ty;)+
    } $($by_hand:tt)*) => {
        #[$crate::forward::async_trait]
        impl $crate::$role for $type {
            $(async fn $verb(&self $(, $name: $of)*) -> $crate::store::Answer<$answer> {
                self.pass(stringify!($verb), self.behind().$verb($($name),*)).await
            })+
            $($by_hand)*
        }
    };
}
