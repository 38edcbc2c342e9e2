// The question of the frontier: bytes, parameters, privacy and clients lead to one of the answers in the page.
(() => {
  const form = document.getElementById("question");
  const place = document.getElementById("answer");
  const { answers, word, sizes } = JSON.parse(document.getElementById("answers").textContent);

  const reply = () => {
    const asked = Object.fromEntries(new FormData(form));
    const [bytes, parameters] = [Number(asked.bytes), Number(asked.parameters)];
    if (!(bytes > 0 && parameters > 0)) return "Say how many bytes, and of how many parameters the network is.";
    const ratio = (word * parameters) / bytes;
    const share = `${bytes} bytes are 1/${Number(ratio.toPrecision(3))} of an update. `;
    const setting = answers.filter((answer) => answer.case === asked.case && answer.epsilon === asked.epsilon);
    if (!setting.length) return `${share}Privacy was not measured for clients like these.`;
    const apart = (answer) => Math.abs(Math.log(answer.d / parameters));
    const near = Math.min(...setting.map(apart));
    const fits = setting.filter((answer) => apart(answer) === near && answer.compression >= ratio * (1 - 1e-9));
    if (!fits.length) {
      const least = Math.max(...setting.map((answer) => answer.compression));
      return `${share}The least that was measured is 1/${least}.`;
    }
    const found = fits.reduce((one, other) => (other.compression < one.compression ? other : one));
    const only = `Measured on ${found.d} parameters only: the ratio of bytes alone speaks. `;
    const far = near > Math.log(sizes) ? only : "";
    return share + far + found.text;
  };

  form.addEventListener("input", () => { place.innerHTML = reply(); });
  form.addEventListener("submit", (event) => event.preventDefault());
})();
