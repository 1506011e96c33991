import BindingControls
import BindingModel
import BindingPeer
import Foundation
import Screens

/// What a view needs of an article, whoever owns the article.
struct ArticleViewModel {
  let title, body: Binding<String>
  let date: Binding<Date>
  let thumbnail: Binding<String?>

  init(_ article: Binding<Article>) {
    (title, body, date, thumbnail) = (article.title, article.body, article.date, article.thumbnail)
  }

  init(_ article: SharedArticle) {
    (title, body) = (article.$title.binding, article.$body.binding)
    (date, thumbnail) = (article.$date.binding, article.$thumbnail.binding)
  }

  /// Loads the picture in the background, off the main actor.
  func load() {
    let (title, thumbnail) = (title.value, thumbnail)
    Task.detached {
      try await Task.sleep(for: .milliseconds(100))
      let edge = String(repeating: "~", count: title.count + 2)
      thumbnail.value = "\(edge)\n \(title.uppercased())\n\(edge)"
    }
  }
}

@MainActor
final class ArticleView: Screen {
  let articles: [ArticleViewModel]
  /// The index of the article that is shown.
  let open: Binding<Int>
  let (title, date, body) = (Label(), Label(), TextView())
  let thumbnail = ImageView<String>()
  /// Binding again replaces the former bindings: an earlier view model can no longer change this view.
  private(set) var viewModel: ArticleViewModel { didSet { bind() } }

  init(_ articles: [ArticleViewModel], open: Binding<Int>) {
    self.articles = articles
    self.open = open
    viewModel = articles[0]
    open.observeOnMain(on: self) { view, index in
      if view.articles.indices.contains(index) { view.viewModel = view.articles[index] }
    }
  }

  private func bind() {
    title.bind(to: viewModel.title)
    date.bind(to: viewModel.date, map: Formatted(.iso8601.year().month().day()))
    body.bind(to: viewModel.body)
    viewModel.thumbnail.bind(\.self, to: thumbnail, \.image)
  }

  var lines: [String] {
    [thumbnail.image ?? "(no picture yet)", row(date.drawing, title.drawing), body.drawing]
  }
}
