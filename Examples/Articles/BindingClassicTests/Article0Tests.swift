import BindingClassic
import BindingControls
import Testing

/// Article 0, "Two-Way Binding in Vanilla Swift": its code, with its names. The ids are those of its rows.
@Suite("article 0: three ways to bind a text field")
@MainActor
struct Article0Tests {
  /// S0.39: the helpers of the article's tests.
  final class TestClass {}

  final class TestTF: TextField {
    var closure: ((String) -> Void)?
    override var text: String? {
      didSet {
        if let closure = closure {
          closure(text!)
        }
      }
    }
  }

  // MARK: Observable

  @Test("S0.1 S0.2 S0.3 S0.6 S0.33r S0.34: an observer gets the present value, then each later one")
  func testObservableStringChanges() {
    let text = Observable("tests")
    let test = TestClass()
    var results: [String] = []
    text.observe(
      on: test,
      completion: { result in
        let res = result
        results.append(res)
      })
    text.value = "changed"
    #expect(results == ["tests", "changed"])
  }

  @Test("S0.6: an observer can use the closure label of the article's listing")
  func observerBlock() {
    let text = Observable("tests")
    let test = TestClass()
    var results: [String] = []
    text.observe(on: test, observerBlock: { results.append($0) })
    #expect(results == ["tests"])
  }

  @Test("S0.4 S0.5 S0.9: an observable that starts unset notifies nobody until it is set")
  func startsEmpty() {
    let text = Observable<String>()
    let test = TestClass()
    var results: [String] = []
    text.observe(on: test, completion: { results.append($0) })
    #expect(text.value == nil)
    #expect(results.isEmpty)
    text.value = "set"
    #expect(results == ["set"])
  }

  @Test("S0.7: removing an owner ends all its observations, by identity")
  func removing() {
    let text = Observable("a")
    let (one, other) = (TestClass(), TestClass())
    var results: [String] = []
    text.observe(on: one, completion: { results.append("one \($0)") })
    text.observe(on: one, completion: { results.append("too \($0)") })
    text.observe(on: other, completion: { results.append("other \($0)") })
    results = []
    text.remove(observer: one)
    text.value = "b"
    #expect(results == ["other b"])
  }

  @Test("S0.35r: one owner observes two observables")
  func twoObservables() {
    let (first, second) = (Observable("1"), Observable("2"))
    let test = TestClass()
    var results: [String] = []
    first.observe(on: test, completion: { results.append($0) })
    second.observe(on: test, completion: { results.append($0) })
    #expect(results == ["1", "2"])
  }

  // MARK: Bindable

  @Test("S0.10 S0.11 S0.12 S0.36r S0.39: a bound field shows the model's values, each assigned once")
  func bindableField() {
    let text = Observable("tests")
    let testTF = TestTF()
    var results: [String] = []
    testTF.closure = { results.append($0) }
    testTF.bind(with: text)
    text.value = "test"
    text.value = "test"
    #expect(results == ["tests", "test"])
    #expect(testTF.binder === text)
  }

  @Test("S0.13: typed text reaches the model, and deleting it leaves the empty text")
  func fieldToModel() {
    let text = Observable("a")
    let field = TextField()
    field.bind(with: text)
    field.type("b")
    #expect(text.value == "ab")
    field.delete(2)
    #expect(text.value == "")
  }

  // MARK: MakeBindable

  @Test("S0.14 S0.15 S0.16 S0.19 S0.37: a property follows the value by its key path")
  func testMakeBinding() {
    let text = MakeBindable("tests")
    let testTF = TestTF()
    var results: [String] = []
    testTF.closure = { str in
      results.append(str)
    }
    text.bind(\String.self, to: testTF, \.text)
    text.update(with: "test")
    #expect(results == ["tests", "test"])
  }

  @Test("S0.20 S0.21 S0.22 S0.23 S0.38: a control event writes the value back")
  func testTFChange() {
    let text = MakeBindable("tests")
    let testTF = TestTF()
    text.bind(\String.self, to: testTF, \.text)
    testTF.text = "test"
    testTF.sendActions(for: .editingChanged)
    #expect(text.currentValue() == "test")
  }

  @Test("S0.17: a part of the value is bound and written back into it")
  func parts() {
    struct Name: Equatable { var first = "Ada", last = "Lovelace" }
    let name = MakeBindable(Name())
    let field = TextField()
    name.bind(\.first, to: field, \.text)
    field.type("!")
    #expect(name.currentValue() == Name(first: "Ada!"))
    let length = MakeBindable("four")
    let view = Progress()
    length.bind(\.count, to: view, \.steps)
    #expect(view.steps == 4)
  }

  final class Progress {
    var steps = 0
  }

  @Test("S0.18: an observer for an object gets it with the value and is skipped once it is gone")
  func addObserver() {
    let text = MakeBindable("a")
    var test: TestClass? = TestClass()
    var results: [String] = []
    text.addObserver(for: test!) { _, value in results.append(value) }
    text.update(with: "b")
    test = nil
    text.update(with: "c")
    #expect(results == ["a", "b"])
  }

  @Test("S0.24 S0.25 S0.26: values are mapped into labels, which are no controls")
  func mappers() {
    let (switchValue, sliderValue, count) = (MakeBindable(true), MakeBindable<Float>(0.5), MakeBindable(3))
    let labels = [Label(), Label(), Label()]
    switchValue.bind(\Bool.self, to: labels[0], \.text, mapper: Mappers.transformBoolToStringFunction)
    sliderValue.bind(\Float.self, to: labels[1], \.text, mapper: Mappers.transformFloatToStringFunction)
    count.bind(\Int.self, to: labels[2], \.text, mapper: Mappers.transformIntToStringFunction)
    #expect(labels.map(\.text) == ["true", "0.5", "3"])
  }

  @Test("S0.28r: a property that is not optional can be bound")
  func propertyThatIsNotOptional() {
    let isEnabled = MakeBindable(false)
    let button = Button()
    isEnabled.bind(\Bool.self, to: button, \.isEnabled)
    #expect(!button.isEnabled)
  }

  @Test("S0.29r: an association stores a strong or weak property per object")
  func association() {
    let notes = ObjectAssociation<String>()
    let owners = ObjectAssociation<TestClass>(weakly: true)
    let (one, other) = (TestClass(), TestClass())
    notes[one] = "one"
    notes[other] = "other"
    var owner: TestClass? = TestClass()
    owners[one] = owner
    #expect(notes[one] == "one" && notes[other] == "other")
    #expect(owners[one] === owner)
    owner = nil
    notes[one] = nil
    #expect(owners[one] == nil)
    #expect(notes[one] == nil)
  }

  // MARK: The screens

  /// S0.30: three fields, each bound by another mechanism.
  final class ViewModel {
    var firstName: Observable<String> = Observable("First")
    var secondName: Observable<String> = Observable("Second")
    var thirdName: MakeBindable<String> = MakeBindable("Third")
  }

  @Test("S0.30 S0.31 S0.W7: three fields show the model and its changes, and change it")
  func threeFields() {
    let viewModel = ViewModel()
    let (firstTF, secondTF, thirdTF) = (TextField(), TextField(), TextField())
    viewModel.firstName.observe(
      on: firstTF,
      completion: { val in
        firstTF.text = val
      })
    firstTF.addAction(for: .editingChanged) { [unowned firstTF] in viewModel.firstName.value = firstTF.text }
    secondTF.bind(with: viewModel.secondName)
    viewModel.thirdName.bind(\String.self, to: thirdTF, \.text)
    #expect([firstTF, secondTF, thirdTF].map(\.text) == ["First", "Second", "Third"])

    viewModel.firstName.value = "First Changed"
    viewModel.secondName.value = "Second Changed"
    viewModel.thirdName.update(with: "Third Changed")
    #expect([firstTF, secondTF, thirdTF].map(\.text) == ["First Changed", "Second Changed", "Third Changed"])

    for field in [firstTF, secondTF, thirdTF] { field.type("!") }
    #expect(viewModel.firstName.value == "First Changed!")
    #expect(viewModel.secondName.value == "Second Changed!")
    #expect(viewModel.thirdName.currentValue() == "Third Changed!")
  }

  @Test("S0.32r: the controls screen shows and edits every kind of value")
  func controlsScreen() {
    let (text, level, choice) = (MakeBindable("Test"), MakeBindable<Float>(0.5), MakeBindable(1))
    let (isEnabled, isOn) = (MakeBindable(true), MakeBindable(false))
    let (field, slider, toggle, button) = (TextField(), Slider(), Switch(), Button())
    let segments = SegmentedControl(segments: ["a", "b"])
    let labels = (0..<4).map { _ in Label() }
    text.bind(\String.self, to: field, \.text)
    text.bind(\String.self, to: labels[0], \.text)
    level.bind(\Float.self, to: slider, \.value)
    level.bind(\Float.self, to: labels[1], \.text, mapper: Mappers.transformFloatToStringFunction)
    choice.bind(\Int.self, to: segments, \.selectedSegmentIndex)
    choice.bind(\Int.self, to: labels[2], \.text, mapper: Mappers.transformIntToStringFunction)
    isEnabled.bind(\Bool.self, to: button, \.isEnabled)
    isOn.bind(\Bool.self, to: toggle, \.isOn)
    isOn.bind(\Bool.self, to: labels[3], \.text, mapper: Mappers.transformBoolToStringFunction)
    field.type("!")
    slider.drag(to: 0.75)
    segments.choose(0)
    toggle.flip()
    isEnabled.update(with: false)
    #expect(labels.map(\.text) == ["Test!", "0.75", "0", "true"])
    #expect(!button.isEnabled)
    #expect(text.currentValue() == "Test!")
    #expect(level.currentValue() == 0.75)
    #expect(choice.currentValue() == 0)
    #expect(isOn.currentValue() == true)
  }
}
