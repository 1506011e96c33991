import BindingClassic
import BindingControls
import Testing

/// Article 1, "Swift + MVVM + Two Way Binding = Win!": its code, with its names. The ids are those of its rows.
@Suite("article 1: bindable controls and a survey form")
@MainActor
struct Article1Tests {
  @Test("S1.1 S1.4: every observer gets the sender and the later values, not the present one")
  func observersWithTheSender() {
    let name = Observable("a")
    var results: [String] = []
    name.bind { (observable, value) in
      #expect(observable === name)
      results.append("first \(value)")
    }
    name.bind { _, value in results.append("second \(value)") }
    name.value = "b"
    #expect(results == ["first b", "second b"])
  }

  @Test("S1.2 S1.3: nil means unset, and observers run before the assignment returns")
  func unset() {
    let name: Observable<String> = Observable()
    var results: [String] = []
    name.bind(observer: { _, value in results.append(value) })
    name.value = "a"
    #expect(results == ["a"])
    name.value = nil
    #expect(results == ["a"])
  }

  @Test("S1.5 S1.6 S1.7: a custom class conforms with two functions, and each object has its binder")
  func ownControl() {
    final class Dial: Bindable {
      typealias BindingType = Int
      var angle = 0
      func observingValue() -> Int? { angle }
      func updateValue(with value: Int) { angle = value }
    }
    let angle = Observable(90)
    let (dial, spare) = (Dial(), Dial())
    dial.bind(with: angle)
    #expect(dial.angle == 90)
    #expect(dial.getBinderValue() == 90)
    dial.setBinderValue(with: 45)
    #expect(dial.angle == 45)
    spare.register(for: angle)
    #expect(spare.angle == 0)
    #expect(spare.getBinderValue() == 45)
  }

  @Test("S1.8 S1.9: an edit is pushed once, and only if the value differs")
  func valueChanged() {
    let isOn = Observable(false)
    var results: [Bool] = []
    isOn.bind { _, value in results.append(value) }
    let toggle = Switch()
    toggle.bind(with: isOn)
    toggle.flip()
    toggle.valueChanged()
    toggle.sendActions(for: .valueChanged)
    #expect(results == [true])
  }

  @Test("S1.10: a label observes an observable that it is not bound to")
  func observeFor() {
    let salary = Observable<Float>(1000)
    let label = Label()
    label.observe(for: salary) { [unowned label] value in label.text = "\(value / 1000)k" }
    salary.value = 2000
    #expect(label.text == "2.0k")
  }

  @Test("S1.11 S1.12r: field, switch, slider, stepper, segments and text view have their types")
  func conformances() {
    let (text, comments) = (Observable("t"), Observable("c"))
    let (isOn, salary, years, choice) = (Observable(true), Observable<Float>(1), Observable(2.0), Observable(1))
    let (field, view, toggle) = (TextField(), TextView(), Switch())
    let (slider, stepper, segments) = (Slider(0...10), Stepper(), SegmentedControl(segments: ["a", "b"]))
    field.bind(with: text)
    view.bind(with: comments)
    toggle.bind(with: isOn)
    slider.bind(with: salary)
    stepper.bind(with: years)
    segments.bind(with: choice)
    field.type("!")
    view.type("\n!")
    toggle.flip()
    slider.drag(to: 5)
    stepper.increment()
    segments.choose(0)
    #expect(text.value == "t!")
    #expect(comments.value == "c\n!")
    #expect(isOn.value == false)
    #expect(salary.value == 5)
    #expect(years.value == 3)
    #expect(choice.value == 0)
  }

  @Test(
    "S1.13r S1.W8: a bound control shows the present value, and an equal text keeps the cursor")
  func presentValueAndCursor() {
    let text = Observable("漢字")
    for control in [TextField(), TextView()] {
      control.bind(with: text)
      #expect(control.observingValue() == "漢字")
      control.moveCursor(to: 1)
      control.updateValue(with: "漢字")
      #expect(control.cursor == 1)
    }
  }

  @Test("S1.14r: rows of a list are bound and reused for others")
  func rows() {
    let names = (0..<10).map { Observable("name \($0)") }
    let rows = (0..<3).map { _ in TextField() }
    for start in 0..<7 {
      for (index, row) in rows.enumerated() { row.bind(with: names[start + index]) }
    }
    rows[0].type("!")
    #expect(names.map(\.value)[6] == "name 6!")
    names[0].value = "stale"
    #expect(rows.map(\.text) == ["name 6!", "name 7", "name 8"])
  }

  // MARK: The survey form

  /// S1.15 S1.16: the article's view model, unchanged.
  struct FormViewModel {
    let name: Observable<String> = Observable()
    let companyName: Observable<String> = Observable()
    let yearsOfExperience: Observable<Double> = Observable()
    let isCurrentEmployer: Observable<Bool> = Observable(false)
    let approxSalary: Observable<Float> = Observable()
    let comments: Observable<String> = Observable()

    func getExperienceString() -> String {
      if let yearsOfExperience = yearsOfExperience.value {
        return "\(String(describing: yearsOfExperience)) yrs"
      }
      return "--"
    }

    func getSalaryString() -> String {
      if let approxSalary = approxSalary.value {
        let normalizedValue = approxSalary / 1000.0
        return "\(normalizedValue)k"
      }
      return "--"
    }

    func getPrettyString() -> String {
      "Name: \(String(describing: name.value ?? "--"))\n"
        + "Company: \(String(describing: companyName.value ?? "--"))\n"
        + "Experience: \(getExperienceString())\n"
        + "Current Employer?: \(((isCurrentEmployer.value ?? false) ? "YES" : "NO"))\n"
        + "approx Salary: \(getSalaryString())\n" + "Comments: \(String(describing: comments.value ?? "--"))"
    }
  }

  /// S1.17: the article's controller, without storyboard.
  @MainActor
  final class ViewController {
    let nameField = TextField()
    let companyField = TextField()
    let isCurrentEmployerSwitch = Switch()
    let yearsOfExperienceStepper = Stepper()
    let salaryRangeSlider = Slider(0...100_000)
    let selectedSalaryRangeLabel = Label()
    let selectedYearsOfExperienceLabel = Label()

    var viewModel = FormViewModel()

    func setupBindings() {
      nameField.bind(with: viewModel.name)
      companyField.bind(with: viewModel.companyName)
      isCurrentEmployerSwitch.bind(with: viewModel.isCurrentEmployer)
      yearsOfExperienceStepper.bind(with: viewModel.yearsOfExperience)
      salaryRangeSlider.bind(with: viewModel.approxSalary)

      selectedSalaryRangeLabel.observe(for: viewModel.approxSalary) {
        [unowned self] (_) in
        self.selectedSalaryRangeLabel.text =
          self.viewModel.getSalaryString()
      }

      selectedYearsOfExperienceLabel.observe(for: viewModel.yearsOfExperience) {
        [unowned self] (_) in
        self.selectedYearsOfExperienceLabel.text =
          self.viewModel.getExperienceString()
      }
    }
  }

  @Test("S1.15 S1.16 S1.17 S1.19: the form fills the model, and its strings follow")
  func surveyForm() {
    let form = ViewController()
    form.setupBindings()
    #expect(form.viewModel.getPrettyString().contains("Experience: --\nCurrent Employer?: NO"))
    form.nameField.type("Ada")
    form.companyField.type("Engines")
    form.isCurrentEmployerSwitch.flip()
    form.yearsOfExperienceStepper.increment()
    form.salaryRangeSlider.drag(to: 64_000)
    form.viewModel.comments.value = "none"
    #expect(form.selectedSalaryRangeLabel.text == "64.0k")
    #expect(form.selectedYearsOfExperienceLabel.text == "1.0 yrs")
    #expect(
      form.viewModel.getPrettyString() == """
        Name: Ada
        Company: Engines
        Experience: 1.0 yrs
        Current Employer?: YES
        approx Salary: 64.0k
        Comments: none
        """)
  }

  @Test("S1.18r S1.W6: a handler that rounds the slider settles immediately")
  func roundingHandler() {
    let form = ViewController()
    form.setupBindings()
    var values: [Float] = []
    form.viewModel.approxSalary.bind { _, value in
      values.append(value)
      form.viewModel.approxSalary.value = (value / 1000).rounded() * 1000
    }
    form.salaryRangeSlider.drag(to: 12_345)
    #expect(values == [12_345, 12_000])
    #expect(form.salaryRangeSlider.value == 12_000)
    #expect(form.selectedSalaryRangeLabel.text == "12.0k")
  }
}
