// Browsers start no Worker from file://. Here the script of one runs in a hidden frame, which is enough for the search.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.scope = frame.contentWindow
      // what the script posts comes out here
      this.scope.postMessage = data => this.tell(this, data)
      this.loaded = new Promise((done, failed) => {
        const script = frame.contentDocument.createElement("script")
        script.src = new URL(url, location.href)
        script.onload = done
        script.onerror = failed
        frame.contentDocument.body.append(script)
      })
    }
    tell(target, data) {
      const event = new MessageEvent("message", { data })
      target.dispatchEvent(event)
      target.onmessage?.(event)
    }
    postMessage(data) {
      this.loaded.then(() => this.tell(this.scope, data))
    }
    terminate() {
      this.scope.frameElement.remove()
    }
  }
}
