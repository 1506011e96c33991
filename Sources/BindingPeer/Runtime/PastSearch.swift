import BindingProtocol

/// The search for what an undo has to restore: the value that stood before a write of this peer whose commit arrived
/// together with later ones. The step waits for the answer; where there is none, it fails and says so.
struct PastSearch: Sendable {
  let question: PastQuestion
  let model: SharedModel

  /// Asks the hub's history, and passes the answer to the session.
  func begin() {
    let (id, runtime) = (model.id, model.runtime)
    Task.detached { [self] in
      let answer = await self.answer
      runtime.perform { state, _ in state.session.answer(question, in: id, with: answer) }
    }
  }

  private var answer: PastAnswer {
    get async {
      guard model.version.epoch == question.epoch,
        let value = try? await model.value(of: question.field, before: question.version),
        model.version.epoch == question.epoch
      else { return .notKnown }
      return .value(value.value, version: value.version)
    }
  }
}
