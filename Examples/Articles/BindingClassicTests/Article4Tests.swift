import BindingClassic
import BindingControls
import Foundation
import Testing

/// Article 4, "Bindings, Generics, Swift and MVVM": its code, with its names and today's Swift.
@Suite("article 4: Dynamic")
@MainActor
struct Article4Tests {
  @Test("S4.1 S4.4: a Dynamic holds a value of any inferred type")
  func boxes() {
    let name = Dynamic("Steve")
    let alive = Dynamic(false)
    let products = Dynamic(["Macintosh", "iPod", "iPhone"])
    name.value = "Tim"
    #expect(name.value == "Tim")
    #expect(!alive.value)
    #expect(products.value.first == "Macintosh")
  }

  @Test("S4.2 S4.5 S4.6: bind delivers later values only")
  func bind() {
    let name = Dynamic("Steve")
    var printed: [String] = []
    name.bind {
      printed.append($0)
    }
    name.value = "Tim"
    name.value = "Groot"
    #expect(printed == ["Tim", "Groot"])
  }

  @Test("S4.6: bind shows no text before the first change, bindAndFire shows the present one")
  func labels() {
    let name = Dynamic("Steve")
    let nameLabel = Label()
    name.bind { nameLabel.text = $0 }
    #expect(nameLabel.text == nil)
    name.value = "Tim"
    #expect(nameLabel.text == "Tim")
    let firedLabel = Label()
    name.bindAndFire { firedLabel.text = $0 }
    #expect(firedLabel.text == "Tim")
  }

  @Test("S4.3 S4.6: bindAndFire delivers a list now and at each change")
  func lists() {
    let products = Dynamic(["Macintosh", "iPod", "iPhone"])
    var printed: [String] = []
    products.bindAndFire {
      printed.append("First product is \($0.first ?? "none")")
    }
    products.value = []
    #expect(printed == ["First product is Macintosh", "First product is none"])
  }

  @Test("S4.2: bind(nil) removes the listeners")
  func removing() {
    let name = Dynamic("a")
    var calls = 0
    name.bind { _ in calls += 1 }
    name.bindAndFire { _ in calls += 1 }
    name.bind(nil)
    name.value = "b"
    #expect(calls == 1)
  }

  // MARK: The article view

  final class Image: Sendable {}

  struct Article {
    var title = "Title"
    var body = "Body"
    var date = Date(timeIntervalSince1970: 0)
  }

  /// S4.7: the article's protocol.
  protocol ArticleViewViewModel {
    var title: Dynamic<String> { get }
    var body: Dynamic<String> { get }
    var date: Dynamic<String> { get }
    var thumbnail: Dynamic<Image?> { get }
  }

  /// S4.7 S4.8 S4.9: a late value is an optional, and the Dynamic itself is constant.
  final class ArticleViewViewModelFromArticle: ArticleViewViewModel, Sendable {
    let title: Dynamic<String>
    let body: Dynamic<String>
    let date: Dynamic<String>
    let thumbnail: Dynamic<Image?>

    init(_ article: Article, download: @escaping @Sendable () async -> Image?) {
      self.title = Dynamic(article.title)
      self.body = Dynamic(article.body)

      let dateFormatter = DateFormatter()
      dateFormatter.dateStyle = .short
      dateFormatter.locale = Locale(identifier: "en_US")
      dateFormatter.timeZone = TimeZone(identifier: "UTC")
      self.date = Dynamic(dateFormatter.string(from: article.date))

      self.thumbnail = Dynamic(nil)

      Task.detached {
        [weak self] in
        if let image = await download() {
          self?.thumbnail.value = image
        }
      }
    }
  }

  /// S4.10 S4.11: the article's controller.
  @MainActor
  final class ArticleViewController {
    let bodyTextView = TextView()
    let titleLabel = Label()
    let dateLabel = Label()
    let thumbnailImageView = ImageView<Image>()

    var viewModel: any ArticleViewViewModel {
      didSet {
        oldValue.unbind(self)
        bindViewModel()
      }
    }

    init(_ viewModel: any ArticleViewViewModel) {
      self.viewModel = viewModel
      bindViewModel()
    }

    private func bindViewModel() {
      viewModel.title.bindAndFire(on: self) {
        [unowned self] in
        self.titleLabel.text = $0
      }
      viewModel.body.bindAndFire(on: self) {
        [unowned self] in
        self.bodyTextView.text = $0
      }
      viewModel.date.bindAndFire(on: self) {
        [unowned self] in
        self.dateLabel.text = $0
      }
      viewModel.thumbnail.bindAndFire(on: self) {
        [unowned self] in
        self.thumbnailImageView.image = $0
      }
    }
  }

  @Test("S4.7 S4.8 S4.9 S4.11: the view shows the article immediately and the thumbnail on its arrival")
  func articleView() async {
    let (arrival, arrived) = AsyncStream.makeStream(of: Image.self)
    let model = ArticleViewViewModelFromArticle(Article()) { await arrival.first { _ in true } }
    let controller = ArticleViewController(model)
    #expect(controller.titleLabel.text == "Title")
    #expect(controller.bodyTextView.text == "Body")
    #expect(controller.dateLabel.text == "1/1/70")
    #expect(controller.thumbnailImageView.image == nil)
    arrived.yield(Image())
    while controller.thumbnailImageView.image == nil { await Task.yield() }
    #expect(controller.thumbnailImageView.image === model.thumbnail.value)
  }

  @Test("S4.10 S4.W2 S4.W4: a replaced view model no longer drives the view, and the first is bound in init")
  func replacing() {
    let old = ArticleViewViewModelFromArticle(Article(title: "Old")) { nil }
    let new = ArticleViewViewModelFromArticle(Article(title: "New")) { nil }
    let controller = ArticleViewController(old)
    #expect(controller.titleLabel.text == "Old")
    controller.viewModel = new
    old.title.value = "stale"
    #expect(controller.titleLabel.text == "New")
    new.title.value = "Newer"
    #expect(controller.titleLabel.text == "Newer")
  }

  // MARK: Weaknesses

  @Test("S4.W1: a Dynamic has any number of listeners")
  func manyListeners() {
    let name = Dynamic("a")
    var calls: [String] = []
    for listener in 1...3 { name.bind { calls.append("\(listener)\($0)") } }
    name.value = "b"
    #expect(calls == ["1b", "2b", "3b"])
  }

  @Test("S4.W3: a listener with an owner ends with it, so capturing it unowned is safe")
  func owners() {
    let name = Dynamic("a")
    weak var label: Label?
    do {
      let owner = Label()
      label = owner
      name.bindAndFire(on: owner) { [unowned owner] in owner.text = $0 }
    }
    name.value = "b"
    #expect(label == nil)
  }

  @Test("S4.W4: an edited text is written back")
  func bothWays() {
    let name = Dynamic("a")
    let field = TextField()
    field.bind(to: name)
    field.type("b")
    #expect(name.value == "ab")
  }

  @Test("S4.W5: an equal value calls no listener")
  func equalValues() {
    let name = Dynamic("a")
    var calls = 0
    name.bind { _ in calls += 1 }
    name.value = "a"
    #expect(calls == 0)
  }
}

extension Article4Tests.ArticleViewViewModel {
  /// Ends the listeners of this owner.
  func unbind(_ owner: AnyObject) {
    title.unbind(owner)
    body.unbind(owner)
    date.unbind(owner)
    thumbnail.unbind(owner)
  }
}
