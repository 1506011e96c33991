import ArgumentParser
import BindingControls
import BindingModel
import BindingPeer
import Foundation
import Screens

struct Article: Equatable {
  var title = ""
  var body = ""
  var date = Date(timeIntervalSince1970: 0)
  /// Nil until it has been loaded.
  var thumbnail: String?
}

/// The article, shared between processes.
struct SharedArticle: Model {
  @Field var title = ""
  @Field var body = ""
  @Field var date = Date(timeIntervalSince1970: 0)
  @Field var thumbnail: String? = nil
}

/// The index of the open article.
struct SharedReader: Model {
  @Field var open = 0
}

extension ArticleView {
  static let steps: [Step<ArticleView>] = [
    .model("publishes two articles") {
      $0.articles[0].title.value = "Bindings"
      $0.articles[0].body.value = "A simple mechanism."
      $0.articles[0].date.value = Date(timeIntervalSince1970: 1_418_226_957)
      $0.articles[1].title.value = "Rebinding"
      $0.articles[1].body.value = "Another article."
      $0.articles[1].date.value = Date(timeIntervalSince1970: 1_419_000_000)
    } shows: {
      $0.title.text == "Bindings" && $0.body.text == "A simple mechanism." && $0.date.text == "2014-12-10"
        && $0.articles[1].body.value == "Another article."
    },
    .model("loads the picture in the background") {
      $0.viewModel.load()
    } shows: {
      $0.thumbnail.image != nil
    },
    .person("adds a sentence") {
      $0.body.type(" It works.")
    } shows: {
      $0.articles[0].body.value == "A simple mechanism. It works."
    },
    .model("opens the other article: the view model is replaced") {
      $0.open.value = 1
    } shows: {
      $0.title.text == "Rebinding" && $0.date.text == "2014-12-19" && $0.thumbnail.image == nil
    },
    .model("renames the article that was open before: this view does not follow") {
      $0.articles[0].title.value = "Renamed"
    } shows: {
      $0.articles[0].title.value == "Renamed" && $0.title.text == "Rebinding"
    },
    .person("adds a sentence, which the other article does not get") {
      $0.body.type(" Still does.")
    } shows: {
      $0.articles.map(\.body.value) == ["A simple mechanism. It works.", "Another article. Still does."]
    },
    .model("loads the picture in the background") {
      $0.viewModel.load()
    } shows: {
      $0.thumbnail.image?.contains("REBINDING") == true
    },
  ]
}

@main
struct ArticleExample: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "article",
    abstract: "The article of article 4: a picture that comes late, a view model that is replaced.")

  @OptionGroup var stage: Stage

  @MainActor
  func run() async throws {
    @State var first = Article()
    @State var second = Article()
    @State var open = 0
    try await stage.play(ArticleView.steps) {
      ArticleView([ArticleViewModel($first), ArticleViewModel($second)], open: $open)
    } shared: { peer, models in
      ArticleView(
        [
          ArticleViewModel(try await peer.share(SharedArticle.self, id: models + "first")),
          ArticleViewModel(try await peer.share(SharedArticle.self, id: models + "second")),
        ], open: try await peer.share(SharedReader.self, id: models + "reader").$open.binding)
    }
  }
}
