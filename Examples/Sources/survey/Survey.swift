import ArgumentParser
import BindingControls
import BindingModel
import BindingPeer
import Screens

/// The answers. Nil: not answered yet.
struct Answers: Equatable {
  var name: String?
  var company: String?
  var years: Double?
  var isEmployer = false
  var salary: Float?
  var comments: String?
}

/// The answers, shared between processes.
struct SharedAnswers: Model {
  @Field var name: String? = nil
  @Field var company: String? = nil
  @Field var years: Double? = nil
  @Field var isEmployer = false
  @Field var salary: Float? = nil
  @Field var comments: String? = nil
}

extension SurveyScreen {
  static let steps: [Step<SurveyScreen>] = [
    .person("types a name and a company") {
      $0.name.type("Ada")
      $0.company.type("Analytical Engines")
    } shows: {
      $0.summary.drawing.hasPrefix("Name: Ada\nCompany: Analytical Engines\n")
    },
    .person("presses plus three times") {
      for _ in 1...3 { $0.years.increment() }
    } shows: {
      $0.yearsLabel.text == "3.0 yrs"
    },
    .person("drags the slider to 51234") {
      $0.salary.drag(to: 51_234)
    } shows: {
      $0.salaryLabel.text == "51.0k"
    },
    .person("flips the switch and leaves a comment") {
      $0.isEmployer.flip()
      $0.comments.type("Notes by me")
    } shows: {
      $0.summary.drawing.hasSuffix("Comments: Notes by me")
    },
    .model("raises the salary and renames the company") {
      $0.form.salary.value = 60_000
      $0.form.company.value = "Engines & Daughters"
    } shows: {
      $0.salary.value == 60_000 && $0.summary.drawing.contains("Company: Engines & Daughters\n")
    },
  ]
}

@main
struct Survey: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "survey",
    abstract: "The survey of article 1: a form that is bound, and texts that are derived from it.")

  @OptionGroup var stage: Stage

  @MainActor
  func run() async throws {
    @State var answers = Answers()
    try await stage.play(SurveyScreen.steps, keepsValues: true) {
      SurveyScreen(Form($answers))
    } shared: { peer, models in
      SurveyScreen(Form(try await peer.share(SharedAnswers.self, id: models + "answers")))
    }
  }
}
