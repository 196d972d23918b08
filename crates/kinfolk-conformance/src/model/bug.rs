//! Mistakes that can be planted in the model, to show that the suite would notice them.

/// A mistake planted on purpose. Each is one that some task engine has shipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A settle is recorded whatever its token.
    StaleSettleGoesThrough,
    /// A snooze uses up an attempt.
    SnoozeCostsAnAttempt,
    /// A retried task goes to the end of the line.
    RetryLosesThePosition,
    /// A recovered task holds its unique key again.
    RecoveryRegainsTheKey,
    /// A worker gets as many suspects as it asks for.
    SuspectsComeTogether,
    /// A completion wins against an earlier request to cancel.
    CompletionBeatsCancel,
    /// A schedule whose task is still there fires all the same.
    OverlapIsIgnored,
    /// A claim on a paused queue takes tasks.
    PauseIsIgnored,
    /// Tasks that come due are not opened by a claim.
    DueStaysShut,
    /// A heartbeat after a gap does not restart the steady span.
    GapIsForgiven,
    /// A settle sent again after a lost answer is called stale.
    RepeatIsStale,
    /// A window ends when its task does.
    WindowEndsEarly,
    /// A parent settles while its last child is still open.
    JoinMissesAChild,
    /// A parent settles at its first failed child, whatever else is open.
    FirstFailureEndsTheParent,
    /// The last child's end is counted before the sibling that it leaves behind.
    SiblingComesTooLate,
    /// The end of an in-order child opens the next two.
    InOrderOpensTwo,
    /// A failure in order does not cancel the rest.
    FailureDoesNotStopTheOrder,
    /// A waiting parent that was cancelled completes with its last child.
    CancelledParentCompletes,
    /// A cancellation reaches the children and not theirs.
    CancelStopsAtChildren,
    /// A settle sent again makes its children again.
    RepeatMakesTwice,
    /// What a refused handler made is made in part.
    RefusalMakesTheRest,
    /// A child's priority is its command's.
    ChildPriorityFromTheCommand,
    /// A child stands at the end of the line.
    ChildLosesThePosition,
    /// A family grows deeper than its queue allows.
    DepthIsIgnored,
    /// A claim starts more families than the queue allows.
    FamilyLimitIsIgnored,
    /// A claim starts more children than the queue allows.
    ChildLimitIsIgnored,
    /// Children that wait for their own children use up the queue's child limit.
    WaitingHoldsASlot,
    /// A root that yields its family slot keeps it.
    YieldKeepsTheFamilySlot,
    /// A follow-up starts before its family has settled.
    FollowUpOpensEarly,
    /// A follow-up does not wait for the second family that asks for it.
    FollowUpForgetsTheSecondFamily,
    /// A follow-up of a completed family starts after a failed one too.
    SkippedFollowUpRuns,
    /// A follow-up that was skipped stays away when its family is repaired.
    SkippedFollowUpStaysAway,
    /// A follow-up that comes back waits only for the family that was repaired.
    SpoilersAreForgotten,
    /// A repair leaves the root as it was.
    RetryFamilyForgetsTheRoot,
    /// A repaired family goes to work though its queue has no room.
    RepairIgnoresTheFamilyLimit,
    /// Retention removes a child before its family has settled.
    ChildIsPrunedAlone,
    /// A scheduled task makes its status active.
    ScheduledTaskIsActive,
    /// What starts and ends between two looks at a status is not told.
    ShortActivityIsMissed,
    /// A checkpoint is written whatever its token.
    StaleRecordIsWritten,
    /// A checkpoint sent again after a lost answer is written again.
    RepeatedRecordIsWrittenTwice,
    /// A suspension sent again makes its fan-outs again.
    RepeatedSuspensionMakesTwice,
    /// A suspension uses up an attempt.
    SuspensionCostsAnAttempt,
    /// A suspension wins against an earlier request to cancel.
    SuspensionBeatsCancel,
    /// A suspension does not look at what has come before it.
    WhatIsThereAlreadyIsMissed,
    /// A resumption uses up an attempt.
    ResumptionCostsAnAttempt,
    /// A resumed task goes to the end of the line.
    ResumptionLosesThePosition,
    /// A fan-out's deadline does not resume its handler.
    DeadlineDoesNotWake,
    /// A fan-out is given up before its deadline.
    ExpiryComesEarly,
    /// The children of a fan-out that was given up go on.
    ExpiryLeavesChildrenRunning,
    /// A verdict changes with the children that end after it.
    VerdictIsTakenAgain,
    /// A cancelled child counts as completed.
    CancelledChildIsForgiven,
    /// A threshold is rounded down.
    ThresholdRoundsDown,
    /// Children that end at once are told of in the wrong order.
    EndedOrderRunsBackwards,
    /// The failure of a handler leaves the children running that should end with it.
    OwnersFailureIsNotPassedOn,
    /// A signal does not resume the handler that waits for it.
    SignalDoesNotWake,
    /// Signals are taken in the wrong order.
    LatestSignalComesFirst,
    /// A taken signal stays in line.
    SignalIsTakenTwice,
    /// A repaired handler replays the failure of its fan-out.
    RepairReplaysTheFailure,
    /// A settle after a recovery gives back the slots of the attempt that runs.
    StaleSettleFreesASlot,
    /// A suspended handler keeps its slots.
    SuspensionKeepsTheSlot,
    /// A key has one slot more than its limit.
    OneSlotTooMany,
    /// When a task that waits behind a key is cancelled, the others behind it are forgotten.
    CancelLosesTheTurn,
    /// A task that finds no room under one key takes slots of the others.
    BlockedTaskTakesSlots,
    /// A slot that is held for a family is given back while a task waits for its children.
    WaitingParentLosesItsHold,
    /// A rate lets a task start a second too early.
    RateRefillsEarly,
    /// Each command counts for itself in a shared group.
    SharedGroupCountsByCommand,
    /// What an operator sets for a key changes nothing.
    LimitIsReadOnce,
    /// A task takes the keys of its maker though nobody asked.
    KeysAreInheritedUnasked,
    /// On a queue with a fair key each claim begins with the first value.
    TurnsBeginAnew,
    /// A suspect that its worker may not take has had its value's turn.
    SuspectUsesUpATurn,
    /// No room is kept for a task that is sent from key to key.
    NoRoomIsKept,
    /// What runs when a group is declared does not count in it.
    DeclarationCountsNothing,
    /// A task with a strike is open again at once.
    StrikeCostsNoTime,
    /// A record of what a worker did that is sent again counts again.
    RepeatedNoteCountsTwice,
    /// A suspect that an operator has cleared runs apart from others still.
    AcquittedTaskStaysASuspect,
    /// A sub-task of a command that declares no attempts has the default, not its parent's.
    SubTaskForgetsItsParentsAttempts,
    /// An enqueue of all or none makes the tasks that can be made.
    EnqueueAllMakesTheRest,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 77] = [
        Self::StaleSettleGoesThrough,
        Self::SnoozeCostsAnAttempt,
        Self::RetryLosesThePosition,
        Self::RecoveryRegainsTheKey,
        Self::SuspectsComeTogether,
        Self::CompletionBeatsCancel,
        Self::OverlapIsIgnored,
        Self::PauseIsIgnored,
        Self::DueStaysShut,
        Self::GapIsForgiven,
        Self::RepeatIsStale,
        Self::WindowEndsEarly,
        Self::JoinMissesAChild,
        Self::FirstFailureEndsTheParent,
        Self::SiblingComesTooLate,
        Self::InOrderOpensTwo,
        Self::FailureDoesNotStopTheOrder,
        Self::CancelledParentCompletes,
        Self::CancelStopsAtChildren,
        Self::RepeatMakesTwice,
        Self::RefusalMakesTheRest,
        Self::ChildPriorityFromTheCommand,
        Self::ChildLosesThePosition,
        Self::DepthIsIgnored,
        Self::FamilyLimitIsIgnored,
        Self::ChildLimitIsIgnored,
        Self::WaitingHoldsASlot,
        Self::YieldKeepsTheFamilySlot,
        Self::FollowUpOpensEarly,
        Self::FollowUpForgetsTheSecondFamily,
        Self::SkippedFollowUpRuns,
        Self::SkippedFollowUpStaysAway,
        Self::SpoilersAreForgotten,
        Self::RetryFamilyForgetsTheRoot,
        Self::RepairIgnoresTheFamilyLimit,
        Self::ChildIsPrunedAlone,
        Self::ScheduledTaskIsActive,
        Self::ShortActivityIsMissed,
        Self::StaleRecordIsWritten,
        Self::RepeatedRecordIsWrittenTwice,
        Self::RepeatedSuspensionMakesTwice,
        Self::SuspensionCostsAnAttempt,
        Self::SuspensionBeatsCancel,
        Self::WhatIsThereAlreadyIsMissed,
        Self::ResumptionCostsAnAttempt,
        Self::ResumptionLosesThePosition,
        Self::DeadlineDoesNotWake,
        Self::ExpiryComesEarly,
        Self::ExpiryLeavesChildrenRunning,
        Self::VerdictIsTakenAgain,
        Self::CancelledChildIsForgiven,
        Self::ThresholdRoundsDown,
        Self::EndedOrderRunsBackwards,
        Self::OwnersFailureIsNotPassedOn,
        Self::SignalDoesNotWake,
        Self::LatestSignalComesFirst,
        Self::SignalIsTakenTwice,
        Self::RepairReplaysTheFailure,
        Self::StaleSettleFreesASlot,
        Self::SuspensionKeepsTheSlot,
        Self::OneSlotTooMany,
        Self::CancelLosesTheTurn,
        Self::BlockedTaskTakesSlots,
        Self::WaitingParentLosesItsHold,
        Self::RateRefillsEarly,
        Self::SharedGroupCountsByCommand,
        Self::LimitIsReadOnce,
        Self::KeysAreInheritedUnasked,
        Self::TurnsBeginAnew,
        Self::SuspectUsesUpATurn,
        Self::NoRoomIsKept,
        Self::DeclarationCountsNothing,
        Self::StrikeCostsNoTime,
        Self::RepeatedNoteCountsTwice,
        Self::AcquittedTaskStaysASuspect,
        Self::SubTaskForgetsItsParentsAttempts,
        Self::EnqueueAllMakesTheRest,
    ];
}
