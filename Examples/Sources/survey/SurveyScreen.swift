import BindingControls
import BindingModel
import BindingPeer
import Screens

/// The answers as the form borrows them, from this process or from a hub.
struct Form {
  let name, company, comments: Binding<String?>
  let years: Binding<Double?>
  let isEmployer: Binding<Bool>
  let salary: Binding<Float?>

  init(_ answers: Binding<Answers>) {
    (name, company, comments) = (answers.name, answers.company, answers.comments)
    (years, isEmployer, salary) = (answers.years, answers.isEmployer, answers.salary)
  }

  init(_ answers: SharedAnswers) {
    (name, company, comments) = (answers.$name.binding, answers.$company.binding, answers.$comments.binding)
    (years, isEmployer, salary) = (answers.$years.binding, answers.$isEmployer.binding, answers.$salary.binding)
  }

  /// `3.0 yrs`
  var experience: Derived<String> { years.derived { $0.map { "\($0) yrs" } ?? "--" } }
  /// `51.0k`
  var thousands: Derived<String> { salary.derived { $0.map { "\($0 / 1_000)k" } ?? "--" } }

  /// All answers in six lines.
  var summary: Derived<String> {
    Derived(of: [
      name.derived { "Name: \($0 ?? "--")" }, company.derived { "Company: \($0 ?? "--")" },
      experience.derived { "Experience: \($0)" }, isEmployer.derived { "Current employer? \($0 ? "YES" : "NO")" },
      thousands.derived { "Approx. salary: \($0)" }, comments.derived { "Comments: \($0 ?? "--")" },
    ]) { $0.joined(separator: "\n") }
  }
}

@MainActor
final class SurveyScreen: Screen {
  let form: Form
  let (name, company, comments) = (TextField(), TextField(), TextView())
  let (years, yearsLabel) = (Stepper(0...50), Label())
  let (salary, salaryLabel) = (Slider(0...100_000), Label())
  let isEmployer = Switch()
  let summary = Label()
  /// Why the model's value differs from the one that was entered.
  var note = ""

  init(_ form: Form) {
    self.form = form
    name.bind(to: form.name, map: Placeholder(""))
    company.bind(to: form.company, map: Placeholder(""))
    comments.bind(to: form.comments, map: Placeholder(""))
    years.bind(to: form.years, map: Placeholder(0))
    isEmployer.bind(to: form.isEmployer)
    salary.bind(to: form.salary, map: Placeholder(0).then(Stepped(by: 1_000))) { [unowned self] in
      note = $0?.message ?? ""
    }
    form.experience.show(\.self, in: yearsLabel, \.text) { $0 }
    form.thousands.show(\.self, in: salaryLabel, \.text) { $0 }
    form.summary.show(\.self, in: summary, \.text) { $0 }
  }

  var lines: [String] {
    [
      row("Name", name.drawing), row("Company", company.drawing), row("Years", years.drawing, yearsLabel.drawing),
      row("Employer", isEmployer.drawing), row("Salary", salary.drawing, salaryLabel.drawing, note),
      row("Comments", comments.drawing),
    ] + ["", summary.drawing]
  }
}
