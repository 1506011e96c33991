import BindingModel
import Testing

@Suite("validated values")
struct ValidatedTests {
  struct Account: Equatable, Sendable { var name = "ada", password = "correct horse", age = 36 }

  private let account = Observable(Account())
  private let seen = Recorder<String>()

  private func password() -> Validated<String> {
    Validated(account.binding.password) { $0.count < 8 ? "at least 8 characters" : nil }
  }

  @Test("a validated value is written to the model while valid, and kept with its problem while not")
  func rule() {
    let password = password()
    #expect(password.value == "correct horse" && password.isValid)
    password.value = "short"
    #expect(password.problem == "at least 8 characters")
    #expect(password.value == "short")
    #expect(account.value.password == "correct horse")
    password.value = "long enough"
    #expect(password.isValid)
    #expect(account.value.password == "long enough")
  }

  @Test("observers of a validated value's problem are notified once per change")
  func observed() {
    let password = password()
    let token = password.problems.observe { [seen] in seen.record($0 ?? "fine") }
    for text in ["a", "ab", "long enough", "longer still"] { password.value = text }
    #expect(seen.all == ["fine", "at least 8 characters", "fine"])
    withExtendedLifetime(token) {}
  }

  @Test("a value is validated again when another value that its rule reads changes")
  func again() {
    let password = password()
    let again = Validated("") { $0 == password.value ? nil : "not the same" }
    let form = ValidatedForm(password, again)
    let token = form.validity.observe { [seen] in seen.record("\($0)") }
    again.value = "long enough"
    #expect(again.problem == "not the same")
    password.value = "long enough"
    #expect(again.isValid && form.isValid)
    password.value = "long enough!"
    #expect(form.problem == "not the same")
    #expect(form.problems.value == ["not the same"])
    #expect(seen.all == ["false", "true", "false"])
    withExtendedLifetime(token) {}
  }

  @Test("a value that becomes valid is written, and one that becomes invalid is not taken back")
  func becomesValid() {
    let limit = Observable(10)
    let age = Validated(account.binding.age) { $0 > limit.value ? "at most \(limit.value)" : nil }
    age.value = 20
    #expect(account.value.age == 36)
    limit.value = 30
    #expect(account.value.age == 20)
    limit.value = 5
    #expect(age.problem == "at most 5")
    #expect(account.value.age == 20)
    limit.value = 100
    #expect(account.value.age == 20)
  }

  @Test("creating a validated value writes nothing, even if the present value is invalid")
  func untouched() {
    account.value.password = "x"
    let writes = Recorder<Account>()
    let token = account.observe(initial: false) { writes.record($0) }
    let password = password()
    #expect(!password.isValid)
    #expect(writes.all.isEmpty)
    withExtendedLifetime((token, password)) {}
  }

  @Test("a validated value follows other writers of the model and drops its invalid edit")
  func modelChanges() {
    let password = password()
    password.value = "short"
    account.value.password = "from elsewhere"
    #expect(password.value == "from elsewhere")
    #expect(password.isValid)
    account.value.name = "eve"
    password.value = "short"
    account.value.name = "ada"
    #expect(password.value == "short")
  }

  @Test("discard restores the model's value, or the initial one")
  func discard() {
    let password = password()
    password.value = "long enough"
    password.value = "short"
    password.discard()
    #expect(password.value == "long enough" && password.isValid)
    let name = Validated("a") { $0.isEmpty ? "missing" : nil }
    name.value = ""
    name.discard()
    #expect(name.value == "a")
  }

  @Test("a mapped validated value reports the mapping's problems too and keeps its spelling")
  func mapped() {
    let age = Validated(account.binding.age, map: NumberText()) { $0 < 0 ? "not below 0" : nil }
    #expect(age.value == "36")
    age.value = "x"
    #expect(age.problem == "\"x\" is not a valid Int")
    age.value = "-1"
    #expect(age.problem == "not below 0")
    age.value = " 040 "
    #expect(age.isValid && age.value == " 040 ")
    #expect(account.value.age == 40)
    account.value.age = 41
    #expect(age.value == "41")
  }

  @Test("a validated value shows the model's correction, and the reason of a refusal")
  func modelHasItsWay() {
    struct AtMostTen: Mapping {
      func forward(_ source: Int) -> Int { source }
      func back(_ target: Int) throws(BindingError) -> Int {
        if target < 0 { throw BindingError(.refused, "the device takes none below 0") }
        return min(target, 10)
      }
    }
    let level = Validated(account.binding.age.map(AtMostTen())) { $0 == 7 ? "not 7" : nil }
    level.value = 99
    #expect(account.value.age == 10 && level.value == 10)
    level.value = -1
    #expect(level.problem == "the device takes none below 0")
    #expect(account.value.age == 10 && level.value == -1)
    level.value = 3
    #expect(level.isValid && account.value.age == 3)
  }

  /// A location at which another party decides, when the test lets it.
  private struct ApprovedLocation: BindingLocation {
    let shown = Observable(1)
    let observers = Protected<[LateRefusals.Observer]>([])
    /// What is called at the end of each write, before it returns.
    var decide: @Sendable (ApprovedLocation) -> Void = { _ in }

    func read() -> Int { shown.value }
    func write(_ value: Int, by writer: Writer) throws(BindingError) {
      if let observer = LateRefusals.observer(of: writer) { observers.withLock { $0.append(observer) } }
      shown.set(value, by: writer)
      decide(self)
    }
    func modify(by writer: Writer, _ body: (inout Int) -> Bool) throws(BindingError) {
      var value = read()
      if body(&value) { try write(value, by: writer) }
    }
    func observe(owner: AnyObject?, _ body: @escaping @Sendable (Int, Writer) -> Void) -> ObserverToken {
      shown.binding.location.observe(owner: owner, body)
    }
    func remove(observer owner: AnyObject) {}

    /// Refuses one of the writes (the first is 0), before or after the current value is shown again.
    func refuse(_ write: Int, current: Int, isShownFirst: Bool) {
      if isShownFirst { shown.value = current }
      observers.withLock { $0[write] }("not \(write)")
      if !isShownFirst { shown.value = current }
    }
  }

  @Test(
    "a write refused later is kept with its reason until it is edited or another writer writes",
    arguments: [false, true])
  func refusedLater(isShownFirst: Bool) {
    let location = ApprovedLocation()
    let level = Validated(Binding(location)) { $0 == 0 ? "not 0" : nil }
    level.value = 7
    #expect(level.isValid && location.shown.value == 7)
    location.refuse(0, current: 1, isShownFirst: isShownFirst)
    #expect(level.problem == "not 0" && level.value == 7 && location.shown.value == 1)
    level.value = 8
    #expect(level.isValid && location.shown.value == 8)
    location.refuse(1, current: 1, isShownFirst: isShownFirst)
    #expect(level.problem == "not 1" && level.value == 8)
    location.shown.value = 5
    #expect(level.isValid && level.value == 5)
    level.value = 9
    location.refuse(2, current: 5, isShownFirst: isShownFirst)
    level.discard()
    #expect(level.isValid && level.value == 5)
    // Others may write the value that was refused here.
    level.value = 7
    location.refuse(3, current: 5, isShownFirst: isShownFirst)
    #expect(level.problem == "not 3")
    location.shown.value = 7
    #expect(level.isValid && level.value == 7)
  }

  @Test("a write refused before it returns is kept with its reason too", arguments: [false, true])
  func refusedAtOnce(isShownFirst: Bool) {
    let location = ApprovedLocation { $0.refuse(0, current: 1, isShownFirst: isShownFirst) }
    let level = Validated(Binding(location), map: NumberText())
    let form = ValidatedForm(level)
    let tokens = [
      level.problems.observe { [seen] in seen.record($0 ?? "fine") },
      form.validity.observe { _ in },
      level.binding.observe { _ in _ = (level.problem, form.isValid) },
    ]
    level.value = "7"
    #expect(level.problem == "not 0" && level.value == "7" && location.shown.value == 1)
    #expect(seen.all == ["fine", "not 0"])
    withExtendedLifetime(tokens) {}
  }

  @Test("a refusal of a write that was overwritten since is ignored")
  func refusedTooLate() {
    let location = ApprovedLocation()
    let level = Validated(Binding(location)) { $0 == 0 ? "zero" : nil }
    level.value = 7
    level.value = 8
    location.refuse(0, current: 8, isShownFirst: true)
    #expect(level.isValid && level.value == 8)
    level.value = 0
    location.refuse(1, current: 1, isShownFirst: false)
    #expect(level.isValid && level.value == 1)
    level.value = 9
    #expect(location.shown.value == 9)
  }

  @Test("a validated value writes once for a turn of several edits")
  func turn() {
    let password = password()
    let writes = Recorder<String>()
    let token = account.observe(initial: false) { writes.record($0.password) }
    Turn.run {
      password.value = "first long"
      password.value = "second long"
      #expect(password.isValid)
    }
    #expect(writes.all == ["second long"])
    withExtendedLifetime(token) {}
  }

  @Test("a validated value keeps no owner of the model alive and ends with it")
  func owner() {
    var name: Observable<String>? = Observable("ada")
    weak let watched = name
    guard let source = name else { return }
    let validated = Validated(source) { _ in nil }
    _ = consume source
    name = nil
    #expect(watched == nil)
    validated.value = "eve"
    #expect(validated.problem == "the owner of this value is gone")
  }

  @Test("a released validated value refuses writes and writes nothing more")
  func released() {
    var password: Validated<String>? = password()
    let binding = password?.binding
    password = nil
    #expect(throws: BindingError.self) { try binding?.set("long enough") }
    account.value.password = "other"
    #expect(account.value.password == "other")
  }

  @Test("forms can contain forms")
  func nested() {
    let name = Validated("") { $0.isEmpty ? "missing" : nil }
    let inner = ValidatedForm(name)
    let form = ValidatedForm(inner, Validated(1) { _ in nil })
    #expect(form.problems.value == ["missing"])
    name.value = "a"
    #expect(form.isValid && form.problem == nil)
  }

  @Test("a validated value and its model end equal while eight threads write both", .timeLimit(.minutes(5)))
  func threads() {
    for _ in 0..<20 {
      let model = Observable(0)
      let even = Validated(model) { $0 % 2 == 0 ? nil : "odd" }
      let bad = Protected(0)
      let token = model.observe { value in if value % 2 != 0 { bad.withLock { $0 += 1 } } }
      onThreads(8) { thread in
        for step in 0..<200 {
          if thread < 6 { even.value = thread * 1_000 + step } else { model.value = (thread * 1_000 + step) * 2 }
        }
      }
      #expect(bad.withLock { $0 } == 0)
      if even.isValid { #expect(even.value == model.value) }
      even.value = 4
      #expect(model.value == 4)
      model.value = 6
      #expect(even.value == 6)
      withExtendedLifetime(token) {}
    }
  }
}
