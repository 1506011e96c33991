import BindingProtocol

/// The actions that wait for the link, and whether it will look for them.
struct LinkQueue: Sendable {
  private var actions: [LinkAction] = []
  /// The link has actions and has not checked since.
  private var isCalled = false
  /// The link will check before it waits: it need not be woken.
  private var isAwake = false
  /// The address in use.
  var hub: String?

  mutating func append(_ more: [LinkAction]) { actions += more }

  /// The link checks now.
  mutating func answerCall() { isCalled = false }

  /// - Returns: whether the link has to be woken.
  mutating func call() -> Bool {
    defer { isCalled = true }
    return !isCalled && !isAwake
  }

  /// Moves the actions, and keeps the capacity: an array that is handed out would be allocated anew.
  mutating func move(into others: inout [LinkAction]) {
    others += actions
    actions.removeAll(keepingCapacity: true)
  }

  /// Moves the actions to a link that will check again before it waits.
  mutating func move(into mailbox: LinkMailbox) {
    move(into: &mailbox.actions)
    isAwake = true
  }

  /// Whether the link may wait; then it has to be woken from now on.
  mutating func rest() -> Bool {
    guard !isCalled, actions.isEmpty else { return false }
    isAwake = false
    return true
  }
}

/// Where a link finds its actions without taking the lock again. Belongs to the link's thread.
final class LinkMailbox {
  var actions: [LinkAction] = []
}
