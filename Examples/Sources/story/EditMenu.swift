import BindingControls
import BindingModel
import BindingPeer

/// The menu items Undo and Redo, which are enabled while there is a step to take back or to restore.
@MainActor
final class EditMenu {
  let (undoItem, redoItem) = (Button(), Button())
  /// Why the last step was not taken back.
  private(set) var note = ""

  private init() {
    undoItem.title = "Undo"
    redoItem.title = "Redo"
  }

  /// For values of this process.
  convenience init(_ history: ChangeHistory) {
    self.init()
    history.statuses.show(\.canUndo, in: undoItem, \.isEnabled) { $0 }
    history.statuses.show(\.canRedo, in: redoItem, \.isEnabled) { $0 }
    undoItem.addAction(for: .touchUpInside) { history.undo() }
    redoItem.addAction(for: .touchUpInside) { history.redo() }
  }

  /// For a model of a hub: takes back what this process wrote, unless others have changed it since.
  convenience init(_ undoing: SharedModel.Undoing) {
    self.init()
    undoing.statuses.show(\.canUndo, in: undoItem, \.isEnabled) { $0 }
    undoing.statuses.show(\.canRedo, in: redoItem, \.isEnabled) { $0 }
    undoItem.addAction(for: .touchUpInside) { [weak self] in self?.perform { await undoing.undo() } }
    redoItem.addAction(for: .touchUpInside) { [weak self] in self?.perform { await undoing.redo() } }
  }

  private func perform(_ action: @escaping @MainActor () async -> SharedModel.Undoing.Outcome) {
    Task {
      if case .failed(let reason) = await action() { note = reason } else { note = "" }
    }
  }
}
