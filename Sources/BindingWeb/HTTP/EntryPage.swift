/// The page for a browser that requests something that does not exist.
enum NothingPage {
  /// - Parameter why: a fixed sentence, without any part of the request.
  static func html(_ why: String) -> String {
    """
    <!doctype html>
    <html lang="en">
    <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>Nothing here · Bindbus</title>
      <link rel="icon" href="/icon.svg" type="image/svg+xml">
      <link rel="stylesheet" href="/page.css">
    </head>
    <body>
      <main class="sheet">
        <h1>There is nothing here</h1>
        <p>\(why)</p>
        <p><a href="/">Dashboard</a></p>
      </main>
    </body>
    </html>

    """
  }
}

/// The page for a browser without code or session: explains how to get a code, and has a form for it.
enum EntryPage {
  /// - Parameter why: a fixed sentence.
  static func html(_ why: String) -> String {
    """
    <!doctype html>
    <html lang="en">
    <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>Sign in · Bindbus</title>
      <link rel="icon" href="/icon.svg" type="image/svg+xml">
      <link rel="stylesheet" href="/page.css">
    </head>
    <body>
      <main class="sheet">
        <h1>Sign in to this hub</h1>
        <p>\(why)</p>
        <p>On the machine where the hub runs, in a terminal of the user who started it:</p>
        <p><code>bindhub web --open</code></p>
        <p>Or run <code>bindhub web</code> and enter the printed address here. The address works once, within five
          minutes. This browser then stays signed in for 30 days, even if the hub restarts.</p>
        <form>
          <p><label for="code">Address or code</label></p>
          <p><input type="text" id="code" name="code" required autocomplete="off" spellcheck="false" autofocus></p>
          <p><button>Sign in</button></p>
        </form>
      </main>
    </body>
    </html>

    """
  }
}

/// The page for a browser with an invitation that can be used.
enum InvitationPage {
  /// - Parameters:
  ///   - name: for whom it is, a member's name.
  ///   - code: hexadecimal digits.
  static func html(_ name: String, code: String) -> String {
    """
    <!doctype html>
    <html lang="en">
    <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>Invitation · Bindbus</title>
      <link rel="icon" href="/icon.svg" type="image/svg+xml">
      <link rel="stylesheet" href="/page.css">
    </head>
    <body>
      <main class="sheet">
        <h1>You are invited as \(name)</h1>
        <p>This address signs one browser in, once. It then stays signed in for 30 days, unless that is ended
          before.</p>
        <form>
          <input type="hidden" name="code" value="\(code)">
          <input type="hidden" name="enter" value="1">
          <p><button autofocus>Sign in</button></p>
        </form>
      </main>
    </body>
    </html>

    """
  }
}
