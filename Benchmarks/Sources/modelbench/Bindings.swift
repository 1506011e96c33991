import BindingModel

/// A write through a binding to a member, against one through a binding to the whole value.
enum Bindings: Group {
  static let title = "a write through `$root.a.b.c`, against a write through the binding of an observable `Double`"

  static var races: [Race] {
    [
      Race("set through three key paths, 1 observer", .atMost(2)) { ours, theirs in
        let member = Lent(.member, ours.body())
        let whole = Lent(.whole, theirs.body())
        return ({ set(member.binding, $0) }, { set(whole.binding, $0) })
      },
      Race("set through three key paths, no observer", .atMost(2)) { ours, theirs in
        let member = Lent(.member)
        let whole = Lent(.whole)
        return ({ set(member.binding, ours, $0) }, { set(whole.binding, theirs, $0) })
      },
      Race("read through three key paths", .atMost(nil)) { ours, theirs in
        let member = Lent(.member)
        let whole = Lent(.whole)
        return ({ read(member.binding, ours, $0) }, { read(whole.binding, theirs, $0) })
      },
    ]
  }

  @inline(never)
  private static func set(_ binding: Binding<Double>, _ count: Int) {
    var value = 0.0
    for _ in 0..<count {
      value += 1
      binding.value = value
    }
  }

  @inline(never)
  private static func set(_ binding: Binding<Double>, _ tally: Tally, _ count: Int) {
    set(binding, count)
    tally.add(binding.value)
  }

  @inline(never)
  private static func read(_ binding: Binding<Double>, _ tally: Tally, _ count: Int) {
    var sum = 0.0
    for _ in 0..<count { sum += binding.value }
    tally.add(sum)
  }
}

/// A binding with the owner of its value and its observer.
final class Lent {
  enum Form { case whole, member, scaledMember }

  let binding: Binding<Double>
  private let owner: AnyObject
  private var token: ObserverToken?

  init(_ form: Form, _ body: (@Sendable (Double) -> Void)? = nil) {
    if case .whole = form {
      let observable = Observable(1.0)
      owner = observable
      binding = observable.binding
    } else {
      @State var root = Root()
      owner = _root.observable
      let member = $root.a.b.c
      binding = form == .member ? member : member.map(Scaled(0...1e9, to: 0...2e9))
    }
    if let body { token = binding.observe(body) }
  }
}

/// Nested structs, each with members besides the measured one.
struct Root: Equatable, Sendable {
  struct A: Equatable, Sendable {
    struct B: Equatable, Sendable {
      var before = 1
      var c = 1.0
    }

    var before = 2
    var b = B()
  }

  var before = 3
  var a = A()
}
