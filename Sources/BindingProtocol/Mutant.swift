#if MUTANTS
  /// Faults planted in the machines, one for each way of breaking a rule of the protocol: the simulation has to find
  /// every one. A normal build has none of this. `Tests/Mutants/run` builds with them and runs each.
  public enum Mutant: String, CaseIterable, Sendable {
    case acknowledgeUnstored
    case publishUnstored
    case keepDropped
    case refuseUnstored
    case acceptJumps
    case repeatEffects
    case renumberResent
    case foldSent
    case foldPartly
    case expireDecided
    case overlayLowerOwn
    case catchUpWithoutMark
    case forgetToldAgain
    case ignoreMark
    case dropAcknowledged
    case noHeads
    case oneHead
    case ignoreMissedBeat
    case ignoreJoinedNumber
    case raiseUnstored
    case restartNumbers
    case compareAcrossEpochs
    case ignorePeerAhead
    case anySecret
    case anyConnection
    case keepIdentity
    case forgetOutcomes
    case confirmTooFar
    case forgetWriters
    case forgetMarkEarly
    case trustForgetful
    case forgottenOnce
    case secondTryBelieved
    case answerUnsubscribed
    case applyRepeats
    case applyPastGap
    case mergeSnapshot
    case applyFirstChunk
    case neverResend
    case blameForOwnPause
    case neverRenew
    case forgetHops
    case allowLoops
    case dropWords
    case unionReplaces
    case mergeUnconditionally
    case trustStaleMerge
    case askForEver
    case resendAsAnother
    case numberUnkept
    case writeUnkept
    case outliveLease
    case anyHolder
    case goneAtReconnect
    case neverClaim
    case ignoreOwner
    case silenceIsLeave
    case endWaitsAtOnce
    case reportUnapplied
    case raiseOffered
    case repeatOffered
    case acknowledgeRescued
    case offerLastWriters
    case renumberUntold
    case keepFieldNumbers

    /// The rule that it breaks, and how.
    public var rule: String {
      switch self {
      case .acknowledgeUnstored: "R1 outcomes leave before their batch is stored"
      case .publishUnstored: "R1 commits leave before their batch is stored"
      case .keepDropped: "R1 what was decided on a batch that was not taken stays decided"
      case .refuseUnstored: "R2 refusals and conflicts leave no mark in the log"
      case .acceptJumps: "R3 a number beyond the next is taken"
      case .repeatEffects: "R3 a repeat is carried out again"
      case .renumberResent: "R3 what is sent again gets a new number"
      case .foldSent: "R3 a write that was sent is replaced by a later one"
      case .foldPartly: "R3 a write is replaced by one that sets a part of its fields"
      case .expireDecided: "R3 a void proposal that was carried out is answered as expired"
      case .overlayLowerOwn: "R4 own lower writes stay over an own commit"
      case .catchUpWithoutMark: "R5 catch-ups carry no mark"
      case .forgetToldAgain: "R5 a catch-up does not tell again what changed while it was told"
      case .ignoreMark: "R5 the mark of a catch-up hides nothing"
      case .dropAcknowledged: "R6 an acknowledged write leaves the overlay at once"
      case .noHeads: "R7 no heads go out with the beats"
      case .oneHead: "R7 heads go out with one beat instead of three"
      case .ignoreMissedBeat: "R7 who misses a beat asks for nothing"
      case .ignoreJoinedNumber: "R8 the number in a join does not raise the mark"
      case .raiseUnstored: "R8 the mark that a join raises is not stored"
      case .restartNumbers: "R8 numbers begin again when a model is joined again"
      case .compareAcrossEpochs: "R8 a compare-and-set from another epoch is no conflict"
      case .ignorePeerAhead: "R8 a peer that is ahead proves nothing"
      case .anySecret: "R9 a tag needs not be that of the secret"
      case .anyConnection: "R9 a session may speak on any connection"
      case .keepIdentity: "R10 a peer that starts again takes its old identity"
      case .forgetOutcomes: "R11 outcomes are not kept"
      case .confirmTooFar: "R11 a peer confirms an outcome that it has not seen"
      case .forgetWriters: "R11 a hub that starts again says it knows nobody"
      case .forgetMarkEarly: "R11 a model that was deleted goes although its writers may still ask about their numbers"
      case .trustForgetful: "R11 what a hub may have decided and forgotten is sent to it again"
      case .forgottenOnce: "R11 that an identity was forgotten is told once, though nobody may have heard it"
      case .secondTryBelieved: "R11 what was sent again after it was forgotten ends as if it had been sent once"
      case .answerUnsubscribed: "R13 a join is answered before its subscription is there"
      case .applyRepeats: "R14 commits at or below the own version are applied"
      case .applyPastGap: "R14 commits beyond a gap are applied"
      case .mergeSnapshot: "R14 what a snapshot does not name stays"
      case .applyFirstChunk: "R14 a catch-up takes effect before its last message"
      case .neverResend: "R15 nothing is sent again"
      case .blameForOwnPause: "R16 a hub that was stopped ends sessions for its own silence"
      case .neverRenew: "R16 what a session says does not renew its lease"
      case .forgetHops: "R17 an answer to a commit has no more hops than it"
      case .allowLoops: "R17 a chain of answers may be of any length"
      case .dropWords: "§5 of the words that two put in at one place, one's are lost"
      case .unionReplaces: "§5 a union takes the place of what was there"
      case .mergeUnconditionally: "§5 a merged write goes over what came meanwhile"
      case .trustStaleMerge: "§5 a merge is not asked for again when another value came meanwhile"
      case .askForEver: "§5 a merge that was answered is asked for again"
      case .resendAsAnother: "R10 what an outbox held is sent under another identity"
      case .numberUnkept: "R3 the outbox does not note the number before the write leaves"
      case .writeUnkept: "G2 the outbox does not note a write"
      case .outliveLease: "§9 what a peer wrote in an ephemeral line outlives its lease"
      case .anyHolder: "§9 an ephemeral field is anybody's to write"
      case .goneAtReconnect: "§9 a peer that says hello again is taken for gone"
      case .neverClaim: "§9 after a welcome nothing ephemeral is claimed again"
      case .ignoreOwner: "§9 what the owner refuses is carried out"
      case .silenceIsLeave: "§9 an owner that says nothing has agreed"
      case .endWaitsAtOnce: "§5.3 a wait for others is answered at once"
      case .reportUnapplied: "§5.3 a peer reports a version that has not come"
      case .raiseOffered: "§7 a number in another's offer raises its writer's mark"
      case .repeatOffered: "§7 what a replica has seen carried out is carried out again"
      case .acknowledgeRescued: "§7 what is brought back stands under the name and number that its offer gives it"
      case .offerLastWriters: "§7 an offer tells of no numbers but those of the fields' last writers"
      case .renumberUntold: "§5.1 fields are numbered anew, and nobody is told to say hello again"
      case .keepFieldNumbers: "§5.1 a peer that says hello again keeps the numbers of fields that it had"
      }
    }

    /// The one that is planted; nil: none.
    // SAFETY: set once, before the first machine is made, by a program of one thread.
    nonisolated(unsafe) public static var planted: Mutant?

    public static func isOn(_ mutant: Mutant) -> Bool { planted == mutant }
  }
#endif
