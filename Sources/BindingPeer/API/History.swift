import BindingModel
public import BindingProtocol

/// A model's past: its earlier commits, as far back as the hub keeps them.
extension SharedModel {
  /// Which earlier commits are asked for. Every bound that is not set lets all commits through.
  public struct HistoryQuery: Sendable, Hashable {
    /// Only commits that changed one of these fields, and of them only these changes; empty: all. At most 255.
    public var fields: [String] = []
    /// Only commits of these writers; empty: of all. A writer is named by its name, its user, its name with the tag's
    /// first digits (`kitchen-3f2a`), or its whole tag. At most 255.
    public var writers: [String] = []
    /// Only commits that made one of these versions.
    public var versions: ClosedRange<Version> = 0 ... .max
    /// Only commits that were decided in this epoch of the hub's log. A version that the hub lost is given again in a
    /// later epoch, so the address of a commit is its epoch and its version.
    public var epoch: Epoch?
    /// Only commits from this time on, in milliseconds since 1970 by the hub's wall clock.
    public var since: UInt64?
    /// Only commits before this time, in milliseconds since 1970 by the hub's wall clock.
    public var until: UInt64?
    /// Whether the oldest commits come first. Otherwise the newest do.
    public var isOldestFirst = false

    /// Makes a query for all commits, the newest first.
    public init() {}
  }

  /// An earlier commit.
  public struct PastCommit: Sendable, Hashable {
    /// What the commit made of one field.
    public struct Change: Sendable, Hashable {
      /// The field's name.
      public var field: String
      /// The value that the field got; nil: it was deleted, or the value was removed from history.
      public var value: FieldValue?
      /// Whether an administrator removed the value from history.
      public var isRemoved: Bool
    }
    /// The epoch of the log in which it was decided. With the version it is the commit's address.
    public var epoch: Epoch
    /// The version that it made.
    public var version: Version
    /// The hub's wall time, milliseconds since 1970.
    public var time: UInt64
    /// Who wrote it, with the user that the hub had let in, if it names users.
    public var writer: Origin
    /// The number of the writer's proposal; 0: the hub made the commit itself.
    public var number: ProposalNumber
    /// The changes that were asked for.
    public var changes: [Change]
  }

  /// How far back a model's history reaches.
  public struct Horizon: Sendable, Hashable {
    /// Why there is nothing before it.
    public enum Reason: Sendable, Hashable {
      /// The model begins there.
      case beginning
      /// Earlier commits are no longer kept: there are more than the hub keeps, they are too old, or they were dropped.
      case notKept
      /// The hub gave names of deleted fields back there, and cannot say any more what earlier commits are about.
      case renumbered
      /// The hub keeps its models in memory, and has run only since then.
      case start
    }
    /// From this version on every commit is there; one more than the present version if none is.
    public var version: Version
    /// Why there is nothing before it.
    public var reason: Reason
  }

  /// A part of the commits that a query asks for.
  public struct HistoryPage: Sendable, Hashable {
    /// The commits, in the order of the query.
    public var commits: [PastCommit]
    /// How far back the history reaches.
    public var horizon: Horizon
    /// The model's version when the page was read; later commits are not in it.
    public var head: Version
    /// The query for the following page; nil: this was the last. A page without commits may have a following one.
    public var next: HistoryQuery?
  }

  /// Why there is no history.
  public enum HistoryError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The model is ephemeral: nobody keeps its commits.
    case ephemeral
    /// This peer's user lacks the right `history`.
    case notPermitted
    /// The hub cannot read its history now; its log says why.
    case unreadable
    /// The timeout passed without an answer from a hub.
    case noAnswer
    /// The hub does not know the request.
    case hubTooOld
    /// The model was left, or the hub does not let this peer join it.
    case notShared
    /// The peer has stopped.
    case stopped(StopReason)
    /// The waiting task was cancelled.
    case cancelled

    public var description: String {
      switch self {
      case .ephemeral: "an ephemeral model has no history"
      case .notPermitted: "this user lacks the right history on the model; access.json of the hub gives it"
      case .unreadable: "the hub cannot read its history; its log says why"
      case .noAnswer: "no hub answered in time"
      case .hubTooOld: "this hub does not answer questions about history; restart it with this version of bindhub"
      case .notShared: "the model is not shared"
      case .stopped(let reason): "this peer has stopped (\(reason)); start a new one"
      case .cancelled: "the wait was cancelled"
      }
    }
  }

  /// Asks for a page of earlier commits.
  /// - Parameters:
  ///   - count: the most commits, 1 to 1,000. A page may have fewer, because it has at most 65,536 bytes unless one
  ///     commit alone is longer.
  ///   - timeout: the longest wait for a hub and its answer.
  /// - Throws: `HistoryError`.
  public func historyPage(
    _ query: HistoryQuery = HistoryQuery(), count: Int = 1_000, timeout: Duration = .seconds(5)
  ) async throws(HistoryError) -> HistoryPage {
    let wait = Wait<HistoryEnd?>()
    let (model, milliseconds, message) = (id, timeout.wholeMilliseconds, query.message(count: count))
    let asked = runtime.perform { state, now in
      let asked = state.session.askHistory(message, of: model, timeoutMilliseconds: milliseconds, now: now)
      state.pages[asked] = wait
      return asked
    }
    // Wakes the link, which from now on observes the deadline of the request too.
    runtime.link.wake()
    // nil: cancelled.
    let end = await wait.value(otherwise: nil)
    // Keeps the model joined: leaving it would end the request.
    withExtendedLifetime(self) {}
    if end == nil {
      runtime.perform { state, _ in
        state.session.stopAsking(asked)
        state.pages[asked] = nil
      }
    }
    switch end {
    case .page(let page): return try HistoryPage(page, of: query)
    case .noAnswer: throw .noAnswer
    case .notJoined: throw .notShared
    case .hubTooOld: throw .hubTooOld
    case .stopped(let reason): throw .stopped(reason)
    case nil: throw .cancelled
    }
  }

  /// The earlier commits, asked for page by page as they are read:
  /// ```swift
  /// var query = SharedModel.HistoryQuery()
  /// query.fields = ["level"]
  /// for try await commit in lamp.history(query) { print(commit.version, commit.writer.attribution) }
  /// ```
  /// A commit that is made meanwhile is not in it. The iteration throws `HistoryError`.
  /// - Parameter timeout: the longest wait for each page.
  public func history(_ query: HistoryQuery = HistoryQuery(), timeout: Duration = .seconds(5)) -> History {
    History(model: self, query: query, timeout: timeout)
  }

  /// Earlier commits as a sequence. Each iterator asks anew.
  public struct History: AsyncSequence, Sendable {
    /// An earlier commit.
    public typealias Element = PastCommit
    let model: SharedModel
    let query: HistoryQuery
    let timeout: Duration

    public func makeAsyncIterator() -> Iterator { Iterator(model: model, timeout: timeout, next: query) }

    /// Asks for a page whenever the last one is used up.
    public struct Iterator: AsyncIteratorProtocol {
      let model: SharedModel
      let timeout: Duration
      var next: HistoryQuery?
      private var page: ArraySlice<PastCommit> = []
      /// How far back the history reaches, as the last page said; nil before the first.
      public private(set) var horizon: Horizon?

      init(model: SharedModel, timeout: Duration, next: HistoryQuery) {
        (self.model, self.timeout, self.next) = (model, timeout, next)
      }

      /// The next commit; nil: there are no more.
      /// - Throws: `HistoryError`.
      public mutating func next() async throws -> PastCommit? {
        while page.isEmpty {
          guard let query = next else { return nil }
          let read = try await model.historyPage(query, timeout: timeout)
          (page, next, horizon) = (read.commits[...], read.next, read.horizon)
        }
        return page.removeFirst()
      }
    }
  }
}

extension Model {
  /// The earlier commits of the shared model; see `SharedModel.history`. Empty while the model is not shared.
  public func history(
    _ query: SharedModel.HistoryQuery = SharedModel.HistoryQuery(), timeout: Duration = .seconds(5)
  ) -> SharedModel.History? { shared?.history(query, timeout: timeout) }
}
