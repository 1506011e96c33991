import BindingModel
import Dispatch

/// Records what observers received, from any thread.
final class Recorder<Element: Sendable>: Sendable {
  private let elements = Protected<[Element]>([])

  var all: [Element] { elements.withLock { $0 } }

  func record(_ element: Element) { elements.withLock { $0.append(element) } }

  func clear() { elements.withLock { $0 = [] } }
}

/// An owner for observations.
final class Owner: Sendable {}

/// Lets other tasks run until the condition holds. Returns false if it does not within 20 seconds.
func eventually(_ condition: @Sendable () async -> Bool) async -> Bool {
  let deadline = ContinuousClock.now + .seconds(20)
  while await !condition() {
    if ContinuousClock.now > deadline { return false }
    await Task.yield()
  }
  return true
}

/// Runs the body on `count` threads concurrently and waits for all of them.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let group = DispatchGroup()
  for index in 0..<count {
    DispatchQueue(label: "bindbus.test.\(index)").async(group: group) { body(index) }
  }
  group.wait()
}
