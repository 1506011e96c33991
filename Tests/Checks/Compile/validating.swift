// compiles: a form of validated values, and mappings that refuse
import BindingControls
import BindingModel

struct Account: Equatable, Sendable { var name = "", password = "", age = 0 }
enum Mood: CaseIterable, Equatable { case calm, wild }

@MainActor
final class SignUp {
  private let account = Observable(Account())
  private let name, password, again, age: Validated<String>
  private let form: ValidatedForm
  private let (field, hint, button, slider) = (TextField(), Label(), Button(), Slider())

  init() {
    name = Validated(account.binding.name) { $0.isEmpty ? "a name, please" : nil }
    let password = Validated(account.binding.password) { $0.count < 8 ? "at least 8 characters" : nil }
    self.password = password
    again = Validated("") { $0 == password.value ? nil : "not the same" }
    age = Validated(account.binding.age, map: NumberText())
    form = ValidatedForm(name, password, again, age)
    field.bind(to: again, commit: .onLeave)
    again.problems.show(in: hint)
    form.validity.show(in: button, \.isEnabled)
  }

  func submit() -> Account? { form.isValid ? account.value : nil }

  func others(_ level: Observable<Double>, _ mood: Observable<Mood>, _ segments: SegmentedControl) {
    slider.bind(to: level, map: Precision())
    segments.bind(to: mood, map: CaseIndex())
    field.bind(to: account.binding.age, map: Within(0...150).then(NumberText()))
    let text = Conversion<Int, String>(
      forward: { "\($0)" },
      back: { text in
        guard let number = Int(text) else { throw BindingError(.unmappable, "a number, please") }
        return number
      })
    field.bind(to: account.binding.age, map: text)
  }
}
